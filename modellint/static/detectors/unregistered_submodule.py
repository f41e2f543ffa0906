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
    chosen_from,
    elements,
    hides_on_purpose,
    is_container,
    is_plain,
    kind_of,
    poured_over,
    sets_elsewhere,
    stores_of,
)
from modellint.static.detectors.makers import Makers, calls_elements, class_body
from modellint.static.detectors.modules_held import (
    REGISTERS,
    Holdings,
    grown_by,
    is_part_of_another,
    owner_of,
    taken_in,
)
from modellint.static.guards import own, targets_of, walk_own
from modellint.static.naming import is_test_module
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name

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


def _is_a_snapshot(method: FunctionInfo, node: ast.expr) -> bool:
    """Tell whether a module is kept as it is after it was built: `self.best.append(copy.deepcopy(self.net))`."""
    if method.name == "__init__" or not isinstance(node, ast.Call) or last_name(node) != "deepcopy":
        return False
    return any(attribute_of(given, method.self_name or "") is not None for given in node.args)


class _ClassReader:
    """Looks through the methods of one class."""

    def __init__(self, context: FileContext, cls: ClassInfo) -> None:
        self.context = context
        self.cls = cls
        self.registers_by_hand = any(
            last_name(call) in REGISTERS
            and not sets_elsewhere(method, call)
            and not _names_one_parameter(call)
            and not self._registers_what_it_builds(method, call)
            for method in cls.methods.values()
            for call in method.calls
        )
        self.registered = self._mentioned_in_containers()
        self.makers = Makers(context, cls)

    def _registers_what_it_builds(self, method: FunctionInfo, call: ast.Call) -> bool:
        """Tell whether a call registers a module that it builds itself, `setattr(self, name, nn.Linear(n, m))`.

        That says nothing of what a list holds.
        """
        built = call.args[-1] if call.args else None
        return isinstance(built, ast.Call) and self.context.classes.names_module(method, built.func)

    def _mentioned_in_containers(self) -> set[str]:
        """Return what some ModuleList, ModuleDict or Sequential takes in, and what the class itself moves, by name."""
        found = chosen_from(self.cls)
        for method in self.cls.methods.values():
            found |= taken_in(self.context, method) | self._said_to_be_hidden(method)
            for name in poured_over(method, found):
                found.add(name)  # of which something else may be made
        return found

    def _said_to_be_hidden(self, method: FunctionInfo) -> set[str]:
        """Return the containers whose name, or a comment beside them, says that torch is not to see what they hold."""
        return {
            ast.unparse(target)
            for node in own(method, ast.Assign, ast.AnnAssign)
            for target in targets_of(node)
            if _APART.search(ast.unparse(target)) or says(self.context.module, node, _MEANT)
        }

    def findings(self) -> Iterator[Finding]:
        yield from self._in_body()
        for method in self.cls.methods.values():
            me = method.self_name
            if me is not None and not method.name.startswith("forward"):
                yield from self._in_method(method)
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
            what = Holdings(self.context, self.makers, scope, set()).container(node.value)
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

    def _in_method(self, method: FunctionInfo) -> Iterator[Finding]:
        held = Holdings(self.context, self.makers, method, self.registered)
        reported: set[str] = set()
        for node in held.steps:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                for target, what, sure in self._kept(held, targets_of(node), node.value):
                    attribute = attribute_of(target, method.self_name or "")
                    if attribute is not None and f"self.{attribute}" not in self.registered:
                        reported.add(attribute)
                        yield self._finding(node, attribute, what, sure)
                for target in targets_of(node):
                    yield from self._put_into(held, node, target, node.value, reported)
            elif isinstance(node, ast.AugAssign):
                what = held.container(node.value)
                if what and (attribute := self._new(held, node.target, reported)) is not None:
                    yield self._grown(node, attribute, what)
            elif isinstance(node, ast.Call) and (place := grown_by(node)) is not None:
                yield from self._joined(held, node, place, reported)
            held.follow(node)

    def _kept(
        self, held: Holdings, targets: list[ast.expr], value: ast.expr
    ) -> Iterator[tuple[ast.expr, str, Confidence]]:
        """Yield what an assignment keeps plain containers of modules in, the kind of each, and how sure that is."""
        first = targets[0]
        if isinstance(first, ast.Tuple) and isinstance(value, ast.Tuple):
            for item, part in zip(first.elts, value.elts, strict=False):
                what = held.container(part)
                if what and not self._only_aliases(held.method, part):
                    yield item, what, Confidence.CERTAIN
            return
        if isinstance(first, ast.Tuple) and isinstance(value, ast.Call):
            for item, what in zip(first.elts, held.containers_returned(value), strict=False):
                if what:
                    yield item, what, Confidence.CERTAIN
        what = held.container(value)
        guessed = self.makers.guessed(held.method, value)
        if self.makers.moves(value):
            guessed = "a list"  # a tensor is moved as well, and a function called; only a module is both
        for target in targets:
            attribute = attribute_of(target, held.method.self_name or "") or ""
            if self._only_aliases(held.method, value):
                continue
            if what:
                if not self._hides_elsewhere(attribute, value):
                    yield target, what, Confidence.CERTAIN
            elif guessed and calls_elements(self.cls, attribute):
                yield target, guessed, Confidence.LIKELY

    def _put_into(
        self, held: Holdings, node: ast.stmt, target: ast.expr, value: ast.expr, reported: set[str]
    ) -> Iterator[Finding]:
        """Yield `self.space.part = ...` and `self.parts["a"] = ...`, where a module joins a plain container."""
        in_space = isinstance(target, ast.Attribute)
        owner, depth = (target.value, 0) if isinstance(target, ast.Attribute) else owner_of(target)
        if isinstance(value, ast.Name) and value.id in self.registered:
            return
        confidence = Confidence.CERTAIN
        if not held.container(value) and not held.is_module(value):
            if not self._is_layer_called_of(held, owner, value):
                return
            confidence = Confidence.LIKELY
        attribute = self._new(held, owner, reported)
        if attribute is not None:
            kind = kind_of([made for _, made in stores_of(self.cls, attribute)])
            kind = "a namespace" if in_space else kind  # equivalent: for the message
            yield self._grown(node, attribute, f"{kind} of dicts" if depth > 1 else kind, confidence)

    def _joined(self, held: Holdings, call: ast.Call, place: ast.expr, reported: set[str]) -> Iterator[Finding]:
        """Yield `self.parts.append(...)` of a module, or of what something named for layers makes and is called."""
        owner, depth = owner_of(place)
        confidence = Confidence.CERTAIN
        kept = attribute_of(owner, held.method.self_name or "") or ""
        if _is_a_snapshot(held.method, call.args[-1]) and not calls_elements(self.cls, kept):
            return
        if is_part_of_another(self.context, held.method, call.args[-1]):
            return
        if not held.takes_in(call):
            if not self._is_layer_called_of(held, owner, call.args[-1]):
                return
            confidence = Confidence.LIKELY
        if (attribute := self._new(held, owner, reported)) is not None:
            kind = kind_of([value for _, value in stores_of(self.cls, attribute)])
            yield self._grown(call, attribute, f"{kind} of lists" if depth else "a list", confidence)

    def _is_layer_called_of(self, held: Holdings, owner: ast.expr, node: ast.expr) -> bool:
        """Tell whether something named for layers makes `node`, and a method calls what is in `owner`, an attribute."""
        attribute = attribute_of(owner, held.method.self_name or "")
        if attribute is None or not self.makers.is_layer_by_name(held.method, node):
            return False
        return calls_elements(self.cls, attribute)

    def _new(self, held: Holdings, owner: ast.expr, reported: set[str]) -> str | None:
        """Return the attribute that is `owner`, once: a plain container of which torch does not know."""
        attribute = attribute_of(owner, held.method.self_name or "")
        if attribute is None or attribute in reported or not is_plain(self.cls, attribute):
            return None
        if f"self.{attribute}" in self.registered:
            return None
        reported.add(attribute)
        return attribute

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

    def _grown(self, node: ast.AST, attribute: str, what: str, confidence: Confidence = Confidence.CERTAIN) -> Finding:
        """Return the finding where a module joins a container; where that is made, it has to be one of torch."""
        made = (
            (self.context.site(store), "the container is made here")
            for store, value in stores_of(self.cls, attribute)
            if is_container(value)  # equivalent: for what is shown beside the finding
        )
        return dataclasses.replace(self._finding(node, attribute, what, confidence), related=tuple(made))

    def _finding(
        self, node: ast.AST, attribute: str, what: str, confidence: Confidence = Confidence.CERTAIN
    ) -> Finding:
        return Finding(self.context.site(node), {"attribute": f"self.{attribute}", "container": what}, confidence)
