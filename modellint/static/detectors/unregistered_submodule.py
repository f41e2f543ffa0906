"""Modules kept where torch does not look for them: lists, tuples, dicts, closures."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.comments import says
from modellint.static.context import FileContext, Finding
from modellint.static.detectors.containers import (
    PLAIN,
    elements,
    hides_on_purpose,
    is_container,
    is_plain_local,
    is_record,
    kept_in_attributes,
    moved_by_hand,
    poured_over,
    sets_elsewhere,
    targets_of,
)
from modellint.static.detectors.makers import Makers, annotated_modules, calls_elements, class_body
from modellint.static.guards import own, walk_own
from modellint.static.naming import is_test_module
from modellint.static.narrowing import asked_for_modules, attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name
from modellint.static.project.trees import walk

_REGISTERS = frozenset({"add_module", "register_module", "register_parameter", "setattr", "__setattr__"})
_CONTAINERS = frozenset({"ModuleList", "ModuleDict", "Sequential"})
_GROWS = frozenset({"append", "extend", "insert", "update", "appendleft", "setdefault"})

_MEANT = re.compile(
    r"(\b(not|never|no|avoid\w*|without|prevent\w*|hide\w*|instead of)\b|n't\b).*(\bregist|ModuleList|ModuleDict)", re.I
)

_APART = re.compile(r"non_?trainable|unregistered")
"""How what is kept from torch on purpose is called."""


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report where a torch module stores modules with weights, or modules that depend on the mode, unregistered."""
    if is_test_module(context.module):
        return  # what stands for a module there is never trained or saved
    for cls in context.module_classes():
        reader = _ClassReader(context, cls)
        if not reader.registers_by_hand and not _only_shows(context, cls):
            yield from reader.findings()


def _only_shows(context: FileContext, cls: ClassInfo) -> bool:
    """Tell whether a class of a notebook computes nothing: it shows what a container does."""
    if context.module.path.suffix != ".ipynb":
        return False
    methods = [method for name, method in cls.methods.items() if name != "__init__"]
    forward = context.project.method(cls, "forward")  # that of a base class, perhaps
    computing = methods if forward is None else [*methods, forward]
    return all(isinstance(node, ast.Pass) for method in computing for node in method.body)


def _names_one_parameter(call: ast.Call) -> bool:
    """Tell whether a call registers one parameter by a fixed name, which says nothing of what a list holds."""
    named = any(isinstance(name, ast.Constant) for name in call.args[:1])
    return named and last_name(call) == "register_parameter"


class _ClassReader:
    """Looks through the methods of one class."""

    def __init__(self, context: FileContext, cls: ClassInfo) -> None:
        self.context = context
        self.cls = cls
        self.registers_by_hand = any(
            last_name(call) in _REGISTERS and not sets_elsewhere(method, call) and not _names_one_parameter(call)
            for method in cls.methods.values()
            for call in method.calls
        )
        self.registered = self._mentioned_in_containers()
        self.makers = Makers(context, cls)

    def _mentioned_in_containers(self) -> set[str]:
        """Return what some ModuleList, ModuleDict or Sequential takes in, and what the class itself moves, by name."""
        found: set[str] = set()
        for method in self.cls.methods.values():
            found |= self._taken_in(method) | self._said_to_be_hidden(method)
            found.update(poured_over(method, found))
        return found

    def _said_to_be_hidden(self, method: FunctionInfo) -> set[str]:
        """Return the containers whose name, or a comment beside them, says that torch is not to see what they hold."""
        return {
            ast.unparse(target)
            for node in own(method, ast.Assign, ast.AnnAssign)
            for target in targets_of(node)
            if _APART.search(ast.unparse(target)) or says(self.context.module, node, _MEANT)
        }

    def _taken_in(self, method: FunctionInfo) -> set[str]:
        """Return what one method moves, or gives to a container or to another module, by name."""
        found = set(moved_by_hand(method))
        for call in method.calls:
            if last_name(call) in _CONTAINERS:
                for argument in [*call.args, *(k.value for k in call.keywords)]:
                    for node in walk(argument):
                        if isinstance(node, ast.Attribute):
                            found.add(f"self.{node.attr}")
                        elif isinstance(node, ast.Name):
                            found.add(node.id)
            elif (last_name(call) or "").lstrip("_")[:1].isupper() and self._may_register(method, call):
                for argument in [*call.args, *(k.value for k in call.keywords)]:
                    attribute = attribute_of(argument, method.self_name or "")
                    found |= {f"self.{attribute}"} if attribute is not None else set()
        return found

    def _may_register(self, method: FunctionInfo, call: ast.Call) -> bool:
        """Tell whether `call` builds another module, which may register the modules that it is given."""
        symbol = self.context.project.resolve_in(method, call.func)
        if symbol is None or not isinstance(symbol.target, ClassInfo):
            return symbol is not None and symbol.target is None and not symbol.dotted.startswith("torch.")
        init = self.context.project.method(symbol.target, "__init__")
        return init is not None and not (_CONTAINERS | _REGISTERS).isdisjoint(init.callees)

    def findings(self) -> Iterator[Finding]:
        yield from self._in_body()
        for method in self.cls.methods.values():
            me = method.self_name
            if me is not None and not method.name.startswith("forward"):
                yield from self._in_method(method, me)
                yield from self._too_early(method, me)

    def _in_body(self) -> Iterator[Finding]:
        """Yield modules that the body of the class holds, where instances do not put another in their place."""
        scope = self.cls.scope
        init = self.context.project.method(self.cls, "__init__")
        template = {n.attr for n in walk_own(init) if isinstance(n, ast.Attribute)} if init is not None else set()
        for node in class_body(self.cls):
            target = node.targets[0]
            if not isinstance(target, ast.Name) or target.id in template:
                continue
            what = self._holds_modules(scope, node.value, {}, set())
            if not what and not self.makers.is_module(scope, node.value, set()):
                continue
            if not self.context.classes.stores(self.cls, target.id):
                yield self._finding(node, target.id, what or "the body of the class")

    def _too_early(self, method: FunctionInfo, me: str) -> Iterator[Finding]:
        """Yield modules assigned before `super().__init__()` has made the place where they are registered."""
        begun = [call for call in method.calls if last_name(call) == "__init__"]
        if method.name != "__init__" or not begun:
            return
        first = min(call.lineno for call in begun)
        for node in method.body:
            if isinstance(node, ast.Assign) and node.lineno < first:
                attribute = next((a for target in node.targets if (a := attribute_of(target, me))), None)
                if attribute is not None and self.makers.is_module(method, node.value, set()):
                    message = f"`self.{attribute}` is set before super().__init__(): torch cannot register it yet"
                    yield Finding(self.context.site(node), message=message)

    def _in_method(self, method: FunctionInfo, me: str) -> Iterator[Finding]:
        local: dict[str, str] = {}  # local variable -> why its elements are modules out of torch's sight
        self.makers.proven = {id(name) for name in asked_for_modules(method)}
        named = annotated_modules(method)  # local variables that hold one module
        kept = kept_in_attributes(method, me)
        reported: set[str] = set()
        for node in sorted(own(method, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Call), key=lambda n: n.lineno):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = targets_of(node)
                if isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(targets[0].elts, node.value.elts, strict=False)
                    for item, part in pairs:
                        attribute = attribute_of(item, me)
                        what = self._holds_modules(method, part, local, named)
                        if attribute is not None and what and f"self.{attribute}" not in self.registered:
                            if not self._only_aliases(method, part):
                                reported.add(attribute)
                                yield self._finding(node, attribute, what)
                    continue
                what = self._holds_modules(method, node.value, local, named)
                guessed = self.makers.layers_by_name(method, node.value) or self.makers.models_given(method, node.value)
                if self.makers.moves(node.value):
                    guessed = "a list"  # a tensor is moved as well, and a function called; only a module is both
                for target in targets:
                    if isinstance(target, ast.Name):
                        if what:
                            local[target.id] = what
                        elif self.makers.is_module(method, node.value, named) and target.id not in kept:
                            named.add(target.id)
                    attribute = attribute_of(target, me)
                    if attribute is not None and what and f"self.{attribute}" not in self.registered:
                        if not self._only_aliases(method, node.value) and not self._hides_elsewhere(
                            attribute, node.value
                        ):
                            reported.add(attribute)
                            yield self._finding(node, attribute, what)
                    elif attribute is not None and guessed and calls_elements(self.cls, attribute):
                        if f"self.{attribute}" not in self.registered:
                            yield self._finding(node, attribute, guessed, Confidence.LIKELY)
                    elif isinstance(target, ast.Attribute) and (space := attribute_of(target.value, me)) is not None:
                        if self._is_plain(space, me) and space not in reported:
                            if what or self.makers.is_module(method, node.value, named):
                                reported.add(space)
                                yield self._grown(node, space, "a namespace", me)
                    elif isinstance(target, ast.Subscript):
                        attribute = attribute_of(target.value, me)
                        if attribute is not None and self._is_plain(attribute, me) and attribute not in reported:
                            if (
                                self.makers.is_module(method, node.value, named)
                                and f"self.{attribute}" not in self.registered
                            ):
                                reported.add(attribute)
                                yield self._grown(node, attribute, "a dict", me)
            elif isinstance(node, ast.AugAssign):
                attribute = attribute_of(node.target, me)
                if attribute is not None and attribute not in reported and f"self.{attribute}" not in self.registered:
                    what = self._holds_modules(method, node.value, local, named)
                    if what and self._is_plain(attribute, me):
                        reported.add(attribute)
                        yield self._grown(node, attribute, what, me)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROWS:
                if not node.args:
                    continue
                given = node.args[-1]
                holds = self.makers.is_module(method, given, named) or bool(
                    self._holds_modules(method, given, local, named)
                )
                owner = node.func.value
                attribute = attribute_of(owner, me)
                if attribute is not None and attribute not in reported and holds and self._is_plain(attribute, me):
                    if f"self.{attribute}" not in self.registered:
                        reported.add(attribute)
                        yield self._grown(node, attribute, "a list", me)
                elif isinstance(owner, ast.Name) and holds:
                    if not is_plain_local(method, owner.id):
                        continue
                    local.setdefault(owner.id, "a list")

    def _only_aliases(self, method: FunctionInfo, value: ast.expr) -> bool:
        """`self.layers = layers`, which a ModuleList takes in as well; `[teacher]` hides one on purpose."""
        items = elements(value)
        if items is None:
            return isinstance(value, ast.Name) and value.id in self.registered
        if len(items) != 1 or isinstance(value, ast.ListComp):
            return False
        return hides_on_purpose(items[0]) or self.makers.is_from_library(method, items[0])

    def _hides_elsewhere(self, attribute: str, value: ast.expr) -> bool:
        """Tell whether `[Module()]` takes the place of a single module that somebody else registers."""
        if not isinstance(value, (ast.List, ast.Tuple)) or len(value.elts) != 1:
            return False
        for method in self.cls.methods.values():
            own = {parameter.arg for parameter, _ in parameters(method)}
            for node in walk_own(method):
                if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Tuple)):
                    given = [item for item in node.value.elts if isinstance(item, ast.Name) and item.id in own]
                    kept = any(attribute_of(target, method.self_name or "") == attribute for target in node.targets)
                    if kept and len(given) == len(node.value.elts) == 1:
                        return True
        return False

    def _holds_modules(self, method: FunctionInfo, value: ast.expr, local: dict[str, str], named: set[str]) -> str:
        """Return what kind of plain container of modules `value` is, or an empty text."""
        if isinstance(value, ast.Name):
            inner = method.functions.get(value.id)
            if inner is not None and inner.node is not None:
                read = {n.id for n in walk(inner.node) if isinstance(n, ast.Name)}
                return "a function" if read & named else ""
            return local.get(value.id, "") if value.id not in self.registered else ""
        if isinstance(value, ast.IfExp):
            return self._holds_modules(method, value.body, local, named) or self._holds_modules(
                method, value.orelse, local, named
            )
        if isinstance(value, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._kept("a list", method, [value.elt], local, named)
        if isinstance(value, ast.DictComp):
            return self._kept("a dict", method, [value.value], local, named)
        if isinstance(value, ast.BinOp):
            if any(self._is_registered(method, side) for side in (value.left, value.right)):
                return ""  # a ModuleList plus a list is a ModuleList
            left = self._holds_modules(method, value.left, local, named)
            return left or self._holds_modules(method, value.right, local, named)
        if isinstance(value, ast.Lambda):
            inside = {n.id for n in walk(value.body) if isinstance(n, ast.Name)}
            own = {argument.arg for argument in walk(value.args) if isinstance(argument, ast.arg)}
            return "a lambda" if (inside - own) & named else ""
        if isinstance(value, ast.Call) and last_name(value) in PLAIN:
            if any(self.makers.mapped(method, argument, named) for argument in value.args):
                return f"a {last_name(value)}"
            for item in [*value.args, *(k.value for k in value.keywords)]:
                held = self._holds_modules(method, item, local, named)
                if held or self.makers.is_module(method, item, named):
                    return f"a {last_name(value)}{''.join(held.partition(' of ')[1:])}"
            return ""
        if isinstance(value, ast.Call) and last_name(value) == "defaultdict" and value.args:
            return "a dict" if self.makers.builds(method, value.args[0], named) else ""
        if isinstance(value, ast.Call) and is_record(self.context, method, value):
            return self._kept("a record", method, [*value.args, *(k.value for k in value.keywords)], local, named)
        what = {ast.Dict: "a dict", ast.Tuple: "a tuple"}.get(type(value), "a list")
        return self._kept(what, method, elements(value) or [], local, named)

    def _kept(
        self, what: str, method: FunctionInfo, items: list[ast.expr], local: dict[str, str], named: set[str]
    ) -> str:
        """Return `what` where one of its elements is a module, `what` of something where one is a container of them."""
        others = [item for item in items if not self.makers.is_module(method, item, named)]
        inside = next(filter(None, (self._holds_modules(method, item, local, named) for item in others)), "")
        if inside:
            return f"{what} of {inside.split()[1]}s"
        return what if len(others) < len(items) else ""

    def _is_registered(self, method: FunctionInfo, node: ast.expr) -> bool:
        """Tell whether `node` is an attribute of self that is no plain container."""
        me = method.self_name or ""
        attribute = attribute_of(node, me)
        return attribute is not None and not self._is_plain(attribute, me)

    def _is_plain(self, attribute: str, me: str) -> bool:
        """Tell whether `self.attribute` is made as a plain container in this class, and nowhere as one of torch."""
        made = [node.value for node in self._stores(attribute, me)]
        registers = any(isinstance(value, ast.Call) and last_name(value) in _CONTAINERS for value in made)
        return not registers and any(value is not None and is_container(value) for value in made)

    def _stores(self, attribute: str, me: str) -> list[ast.Assign | ast.AnnAssign]:
        stores = [node for method in self.cls.methods.values() for node in own(method, ast.Assign, ast.AnnAssign)]
        return [node for node in stores if any(attribute_of(t, me) == attribute for t in targets_of(node))]

    def _grown(self, node: ast.AST, attribute: str, what: str, me: str) -> Finding:
        """Return the finding where a module joins a container; where that is made, it has to be one of torch."""
        made = [
            store
            for store in self._stores(attribute, me)
            if store.value is not None and is_container(store.value)  # equivalent: for what is shown beside the finding
        ]
        related = tuple((self.context.site(store), "the container is made here") for store in made)
        return dataclasses.replace(self._finding(node, attribute, what), related=related)

    def _finding(
        self, node: ast.AST, attribute: str, what: str, confidence: Confidence = Confidence.CERTAIN
    ) -> Finding:
        return Finding(self.context.site(node), {"attribute": f"self.{attribute}", "container": what}, confidence)
