"""What the local variables of a function hold: modules, and plain containers of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import partial

from modellint.static.attributes import stored
from modellint.static.context import FileContext
from modellint.static.detectors.containers import (
    CONTAINERS,
    PLAIN,
    elements,
    is_plain,
    is_plain_local,
    is_record,
    is_registering,
    kept_in_attributes,
    kind_of,
    moved_by_hand,
    uses_in_turn,
)
from modellint.static.detectors.makers import Makers, annotated_modules, calls_elements, returned_by
from modellint.static.guards import is_ruled_out, own, targets_of, unnegated, values_of
from modellint.static.narrowing import asked_for_modules, attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import arguments_given
from modellint.static.project.names import arguments_of, is_named, last_name, names_in
from modellint.static.project.trees import walk

REGISTERS = frozenset({"add_module", "register_module", "register_parameter", "setattr", "__setattr__"})
_GROWS = frozenset({"append", "extend", "insert", "update", "appendleft", "setdefault"})


def taken_in(context: FileContext, method: FunctionInfo) -> set[str]:
    """Return what one method moves, or gives to a container or to another module, by name."""
    found = set(moved_by_hand(method))
    for call in method.calls:
        place = grown_by(call)
        attribute = attribute_of(place, method.self_name or "") if place is not None else None
        if attribute is not None and method.cls is not None and is_registering(method.cls, attribute):
            found |= {given.id for given in call.args if isinstance(given, ast.Name)}
        if _wraps_under_an_option(method, call):
            continue
        if _is_container(context, method, call):
            for argument in arguments_of(call):
                for node in walk(argument):
                    if isinstance(node, ast.Attribute):
                        found.add(f"self.{node.attr}")
                    elif isinstance(node, ast.Name):
                        found.add(node.id)
        elif (last_name(call) or "").lstrip("_")[:1].isupper() and _may_register(context, method, call):
            for given in arguments_of(call):
                argument = given.value if isinstance(given, ast.Starred) else given
                attribute = attribute_of(argument, method.self_name or "")
                found |= {f"self.{attribute}"} if attribute is not None else set()
    return found


def is_part_of_another(context: FileContext, method: FunctionInfo, given: ast.expr) -> bool:
    """Tell whether what is in a variable becomes a part of another module, which is put into an attribute, too.

    `block.qkv = WithLora(block.qkv, down, up)`: torch finds it there, whatever list it is kept in besides.
    """
    return isinstance(given, ast.Name) and any(
        isinstance(node.value, ast.Call)
        and isinstance(node.targets[0], ast.Attribute)
        and _keeps(context, method, node.value, given.id)
        for node in own(method, ast.Assign)
    )


def _keeps(context: FileContext, method: FunctionInfo, call: ast.Call, name: str) -> bool:
    """Tell whether `call` builds a module of the project that keeps a variable as it is in an attribute."""
    symbol = context.project.resolve_in(method, call.func)
    cls = symbol.target if symbol is not None else None
    if not isinstance(cls, ClassInfo) or not context.classes.is_module(cls):
        return False
    init = context.project.method(cls, "__init__")
    if init is None:  # equivalent: what has no constructor is given nothing
        return False
    given = arguments_given(init, call)
    kept = {value.id for _, value in stored(init) if isinstance(value, ast.Name)}
    return any(is_named(given[parameter], name) for parameter in kept & given.keys())


def _is_container(context: FileContext, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what is called makes a container of torch's, or an heir of one, or is the constructor of a base."""
    name = last_name(call) or ""
    made = context.project.resolve_in(method, call.func) if name.endswith("Sequential") else None
    heir = made is not None and isinstance(made.target, ClassInfo) and context.classes.is_module(made.target)
    return heir or name in CONTAINERS or name == "__init__"


def _wraps_under_an_option(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether an option alone decides if `self.parts = Sequential(*self.parts)` takes the place of a plain list.

    `if self.flat:` without an `else`, and a method calls what is in it.
    """
    given = call.args[0] if len(call.args) == 1 else None
    given = given.value if isinstance(given, ast.Starred) else given
    attribute = attribute_of(given, method.self_name or "") if given is not None else None
    if attribute is None or method.cls is None:  # equivalent: of what has no name nobody calls an element
        return False
    branches = (node for node in own(method, ast.If) if node in method.body and not node.orelse)
    taken = (node for branch in branches if _is_an_option(branch.test) for node in branch.body)
    wraps = any(getattr(node, "value", None) is call for node in taken)
    return wraps and calls_elements(method.cls, attribute)


def _is_an_option(test: ast.expr) -> bool:
    """Tell whether a condition asks a flag: `flat`, `not self.flat`, `self.flat is False`."""
    test, _ = unnegated(test, True)
    if isinstance(test, ast.Compare) and isinstance(test.comparators[0], ast.Constant):
        return isinstance(test.comparators[0].value, bool) and isinstance(test.left, (ast.Name, ast.Attribute))
    return isinstance(test, (ast.Name, ast.Attribute))


def _may_register(context: FileContext, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether `call` builds another module, which may register the modules that it is given."""
    symbol = context.project.resolve_in(method, call.func)
    if symbol is None or not isinstance(symbol.target, ClassInfo):
        return symbol is not None and symbol.target is None and not symbol.dotted.startswith("torch.")
    init = context.project.method(symbol.target, "__init__")
    return init is not None and not (CONTAINERS | REGISTERS).isdisjoint(init.callees)


def grown_by(call: ast.Call) -> ast.expr | None:
    """Return the container that a call like `parts.append(part)` puts something into."""
    grows = isinstance(call.func, ast.Attribute) and call.func.attr in _GROWS and bool(call.args)
    return call.func.value if grows else None  # type: ignore[attr-defined]


def owner_of(place: ast.expr) -> tuple[ast.expr, int]:
    """Return the container that a place is in, `parts` for `parts["a"][0]`, and how many steps lead there."""
    depth = 0
    while isinstance(place, ast.Subscript):
        place, depth = place.value, depth + 1
    return place, depth


class Holdings:
    """Follows the statements of one function, in the order of its text; `registered` is what torch knows, by name.

    `builders` are its parameters of which each call makes a module.
    """

    def __init__(
        self,
        context: FileContext,
        makers: Makers,
        method: FunctionInfo,
        registered: set[str],
        builders: frozenset[str] = frozenset(),
    ) -> None:
        self.context = context
        self.makers = makers
        self.method = method
        self.registered = registered
        self._builders = builders
        self.local: dict[str, str] = {}
        """Why the elements of a local variable are modules out of torch's sight."""
        self.named = annotated_modules(method)
        """The local variables that hold one module."""
        self._kept = kept_in_attributes(method, method.self_name or "")
        makers.proven |= {id(name) for name in asked_for_modules(method)}
        self.steps = sorted(
            own(method, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Call), key=lambda node: node.lineno
        )

    def follow(self, node: ast.AST) -> None:
        """Take in what one of the `steps` does."""
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in targets_of(node):
                self._assign(node, target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if self.container(node.value) and is_plain_local(self.method, node.target.id):
                self.local.setdefault(node.target.id, "a list")
        elif isinstance(node, ast.Call) and (place := grown_by(node)) is not None and self.takes_in(node):
            self._grow(place, "lists")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_module":
            given = arguments_of(node)
            if isinstance(node.func.value, ast.Name) and any(map(self.is_module, given)):
                self.named.add(node.func.value.id)  # `block = nn.Sequential()` is empty before

    def takes_in(self, call: ast.Call) -> bool:
        """Tell whether what a call puts into a container is a module, or a container of some."""
        return self.is_module(call.args[-1]) or bool(self.container(call.args[-1]))

    def is_module(self, node: ast.expr) -> bool:
        """Tell whether `node` is a module that has weights or depends on the mode."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._builders:
            return True
        return self.makers.is_module(self.method, node, self.named)

    def _assign(self, node: ast.Assign | ast.AnnAssign, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            for item, is_module in zip(target.elts, self.makers.parts(self.method, value), strict=False):
                if is_module:
                    self._name(node, item)
        elif isinstance(target, ast.Name) and (what := self.container(value)):
            self.local[target.id] = what
        elif self.is_module(value):
            if isinstance(target, ast.Subscript):
                self._grow(target.value, "dicts")
            else:
                self._name(node, target)
        elif isinstance(target, ast.Subscript) and self.container(value):
            self._grow(target.value, "dicts")

    def _name(self, node: ast.stmt, target: ast.expr) -> None:
        """Note that a statement gives a module to `target`: an attribute that the next turn of a loop gives another."""
        if isinstance(target, ast.Name) and target.id not in self._kept:
            self.named.add(target.id)
        attribute = attribute_of(target, self.method.self_name or "")
        if attribute is not None:
            lost = uses_in_turn(self.method, node, attribute)
            self.makers.proven |= {id(use) for use in lost}

    def _grow(self, place: ast.expr, inner: str) -> None:
        """Note that a module joins what is at `place`, in a local variable."""
        owner, depth = owner_of(place)
        if isinstance(owner, ast.Name) and is_plain_local(self.method, owner.id):
            kind = kind_of(values_of(self.method, owner.id))
            self.local.setdefault(owner.id, f"{kind} of {inner}" if depth else kind)

    # -- containers ----------------------------------------------------------------------------------------

    def container(self, value: ast.expr) -> str:
        """Return what kind of plain container of modules `value` is, or an empty text."""
        if isinstance(value, ast.Name):
            inner = self.method.functions.get(value.id)
            if inner is not None and inner.node is not None:
                read = names_in(inner.node)
                return "a function" if read & self.named else ""
            return self.local.get(value.id, "") if value.id not in self.registered else ""
        if isinstance(value, ast.IfExp):
            return self.container(value.body) or self.container(value.orelse)
        if isinstance(value, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._kept_in("a list", [value.elt])
        if isinstance(value, ast.DictComp):
            return self._kept_in("a dict", [value.value])
        if isinstance(value, ast.BinOp):
            if any(self._is_registered(side) for side in (value.left, value.right)):
                return ""  # a ModuleList plus a list is a ModuleList
            return self.container(value.left) or self.container(value.right)
        if isinstance(value, ast.Lambda):
            inside = names_in(value.body)
            mine = {argument.arg for argument in walk(value.args) if isinstance(argument, ast.arg)}
            return "a lambda" if (inside - mine) & self.named else ""
        if isinstance(value, ast.Call):
            return self._made_by(value)
        what = {ast.Dict: "a dict", ast.Tuple: "a tuple"}.get(type(value), "a list")
        return self._kept_in(what, elements(value) or [])

    def _made_by(self, call: ast.Call) -> str:
        """Return what kind of plain container of modules a call makes, or an empty text."""
        given = arguments_of(call)
        if last_name(call) in PLAIN:
            if any(self.makers.mapped(self.method, argument, self.named) for argument in call.args):
                return f"a {last_name(call)}"
            for item in given:
                held = self.container(item)
                if held or self.is_module(item):
                    return f"a {last_name(call)}{''.join(held.partition(' of ')[1:])}"
            return ""
        if last_name(call) == "defaultdict" and call.args:
            return "a dict" if self.makers.builds(self.method, call.args[0], self.named) else ""
        if is_record(self.context, self.method, call):
            return self._kept_in("a record", given)
        maker = self.makers.maker(self.method, call)
        if maker is None:
            return ""
        return self.makers.asked(maker, partial(self._returned, maker, call), "")

    def containers_returned(self, call: ast.Call) -> list[str]:
        """Return what kinds of plain containers of modules the elements of the tuple are that a call returns."""
        maker = self.makers.maker(self.method, call)
        if maker is None:
            return []
        return self.makers.asked(maker, partial(self._elements_returned, maker, call), [])

    def _given_builders(self, given: Mapping[str, ast.expr]) -> frozenset[str]:
        """Return the parameters to which a call gives what makes modules: `collect(lambda n: Linear(n))`."""
        return frozenset(name for name, node in given.items() if self.makers.builds(self.method, node, self.named))

    def _returned(self, maker: FunctionInfo, call: ast.Call) -> str:
        """Return what kind of plain container of modules a function of the project returns, whichever way it ends."""
        held = self._at_the_end(maker, call)
        kinds = [held.container(value) if value is not None else "" for value in returned_by(maker)]
        return kinds[0] if kinds and all(kinds) else ""

    def _elements_returned(self, maker: FunctionInfo, call: ast.Call) -> list[str]:
        held = self._at_the_end(maker, call)
        returned = [value.elts if isinstance(value, ast.Tuple) else [] for value in returned_by(maker)]
        kinds = [[held.container(item) for item in items] for items in zip(*returned, strict=False)]
        return [each[0] if all(each) else "" for each in kinds]

    def _at_the_end(self, maker: FunctionInfo, call: ast.Call) -> Holdings:
        """Return what the variables of a function of the project hold at its end, when it is called so."""
        given = arguments_given(maker, call)
        constants = {name: node for name, node in given.items() if isinstance(node, ast.Constant)}
        flags = {name: bool(node.value) for name, node in constants.items() if name not in maker.stores}
        builders = self._given_builders(given)
        held = Holdings(self.context, self.makers, maker, taken_in(self.context, maker), builders)
        if maker.callees.isdisjoint({"deepcopy", "copy"}):  # of what is registered torch knows, of a copy it does not
            held.named -= {name for name, node in given.items() if self._is_registered(node)}
        for node in held.steps:
            if not is_ruled_out(maker, node, flags):
                held.follow(node)
        return held

    def _kept_in(self, what: str, items: list[ast.expr]) -> str:
        """Return `what` where one of its elements is a module, `what` of something where one is a container of them."""
        others = [item for item in items if not self.is_module(item)]
        inside = next(filter(None, map(self.container, others)), "")
        if inside:
            return f"{what} of {inside.split()[1]}s"
        return what if len(others) < len(items) else ""

    def _is_registered(self, node: ast.expr) -> bool:
        """Tell whether `node` is an attribute of self that is no plain container."""
        attribute = attribute_of(node, self.method.self_name or "")
        return attribute is not None and not is_plain(self.makers.cls, attribute)
