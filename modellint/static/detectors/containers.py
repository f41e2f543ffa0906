"""Plain containers that modules may be kept in: how they are made, and what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.static.context import FileContext
from modellint.static.guards import assignments, own, path_to, targets_of, values_of
from modellint.static.naming import MOVES
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import is_called_on, last_name
from modellint.static.project.trees import walk

CONTAINERS = frozenset({"ModuleList", "ModuleDict", "Sequential"})
"""The last names of the containers that torch looks into."""
PLAIN = frozenset({"list", "tuple", "dict", "OrderedDict", "SimpleNamespace", "Namespace", "deque"})
"""The last names of what makes plain containers."""


def sets_elsewhere(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether this is `setattr` on something else than `self`: a configuration is filled so."""
    mine = bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id == method.self_name
    return last_name(call) == "setattr" and not mine


def hides_on_purpose(item: ast.expr) -> bool:
    """Tell whether a list's only element is somebody else's module, a copy, or frozen: `[teacher]`, `[net.eval()]`."""
    if isinstance(item, (ast.Name, ast.Attribute)):
        return True
    return isinstance(item, ast.Call) and last_name(item) in ("eval", "requires_grad_", "deepcopy")


def is_plain_local(method: FunctionInfo, name: str) -> bool:
    """Tell whether a local variable is made as a plain container, and as no ModuleList that only grows like one."""
    grown = {id(node.value) for node in own(method, ast.AugAssign)}
    made = [value for value in values_of(method, name) if id(value) not in grown]
    return bool(made) and all(isinstance(value, ast.BinOp) or is_container(value) for value in made)


def is_container(value: ast.expr) -> bool:
    """Tell whether an expression makes a plain container."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):  # `[None] * 3`
        return isinstance(value.left, ast.List) or isinstance(value.right, ast.List)
    displays = (ast.List, ast.Dict, ast.Tuple, ast.Set, ast.ListComp, ast.DictComp)
    return isinstance(value, displays) or (isinstance(value, ast.Call) and last_name(value) in PLAIN)


def kind_of(made: list[ast.expr]) -> str:
    """Return what kind of container one of the expressions makes."""
    dicts = (isinstance(value, (ast.Dict, ast.DictComp)) or last_name(value) in _DICTS for value in made)
    return "a dict" if any(dicts) else "a list"


_DICTS = frozenset({"dict", "OrderedDict"})


def is_plain(cls: ClassInfo, attribute: str) -> bool:
    """Tell whether `self.attribute` is made as a plain container in a class, and nowhere as one of torch.

    What torch itself keeps modules in is none: a class may empty `self._modules`, and fill it anew.
    """
    if attribute == "_modules":
        return False
    made = [value for _, value in stores_of(cls, attribute)]
    return not is_registering(cls, attribute) and any(map(is_container, made))


def is_registering(cls: ClassInfo, attribute: str) -> bool:
    """Tell whether `self.attribute` is made as a container of torch in a class."""
    made = (value for _, value in stores_of(cls, attribute))
    return any(isinstance(value, ast.Call) and last_name(value) in CONTAINERS for value in made)


def stores_of(cls: ClassInfo, attribute: str) -> list[tuple[ast.stmt, ast.expr]]:
    """Return the statements of a class that assign `self.attribute`, with what they assign to it."""
    return [
        (node, value)
        for method in cls.methods.values()
        for node in own(method, ast.Assign, ast.AnnAssign)
        for target, value in _pairs(node)
        if attribute_of(target, method.self_name or "") == attribute
    ]


def _pairs(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what an assignment stores to, with what it stores there: `a, b = [], {}` are two."""
    for target in targets_of(node):
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif node.value is not None:  # equivalent: nothing is no container
            yield target, node.value


def is_record(context: FileContext, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a call makes a data class or a named tuple of the project: torch does not look into these."""
    symbol = context.project.resolve_in(method, call.func)
    if symbol is not None and isinstance(symbol.target, ClassInfo):
        return bool(symbol.target.fields) and not context.classes.is_module(symbol.target)
    made = values_of(method.module.body, call.func.id) if isinstance(call.func, ast.Name) else []
    return any(isinstance(value, ast.Call) and last_name(value) == "namedtuple" for value in made)


def kept_in_attributes(method: FunctionInfo, me: str) -> set[str]:
    """Return the local variables that are attributes of `self` as well: torch sees what they hold.

    Not where each turn of a loop overwrites the attribute: torch sees the last one alone.
    """
    return {
        node.value.id
        for node in own(method, ast.Assign)
        if isinstance(node.value, ast.Name) and _turn_around(method, node) is None
        if any(attribute_of(target, me) is not None for target in node.targets)
    }


def uses_in_turn(method: FunctionInfo, statement: ast.stmt, attribute: str) -> Iterator[ast.Attribute]:
    """Yield the uses of `self.attribute` behind a statement that sets it anew in each turn of a loop."""
    body = _turn_around(method, statement) or []
    for later in body[body.index(statement) + 1 :] if body else ():
        for node in walk(later):
            if isinstance(node, ast.Attribute) and attribute_of(node, method.self_name or "") == attribute:
                yield node


def _turn_around(method: FunctionInfo, statement: ast.stmt) -> list[ast.stmt] | None:
    """Return the body of the loop whose every turn runs `statement`."""
    around = next(iter(path_to(method, statement)[-2:-1]), None)
    within = isinstance(around, (ast.For, ast.While)) and statement in around.body
    return around.body if within else None  # type: ignore[union-attr]


def elements(value: ast.expr) -> list[ast.expr] | None:
    """Return the elements that a display shows, None for anything else."""
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return list(value.elts)
    return list(value.values) if isinstance(value, ast.Dict) else None


def moved_by_hand(method: FunctionInfo) -> Iterator[str]:
    """Yield the containers whose elements `method` moves to where the input is: `self.x[0] = self.x[0].to(device)`."""
    for node in own(method, ast.Assign):
        target, call = node.targets[0], node.value
        if isinstance(target, ast.Subscript) and isinstance(call, ast.Call) and last_name(call) in MOVES:
            if is_called_on(call, ast.unparse(target)):
                yield ast.unparse(target.value)


def poured_over(method: FunctionInfo, taken: set[str]) -> Iterator[str]:
    """Yield the containers whose elements `method` puts into one of `taken`: `for x in xs: ys.append(x)`, and
    `ys = [xs[0], nn.ReLU(), xs[1]]`."""
    for loop in own(method, ast.For):
        for statement in loop.body:  # not where a condition may skip some
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                if ast.unparse(call.func.value) in taken:
                    yield from _run_over(loop, call.args)
    for node in reversed(own(method, ast.Assign)):
        if isinstance(node.value, (ast.List, ast.Tuple)) and not taken.isdisjoint(map(ast.unparse, node.targets)):
            yield from (ast.unparse(part.value) for part in node.value.elts if isinstance(part, ast.Subscript))


def chosen_from(cls: ClassInfo) -> set[str]:
    """Return the dicts and lists of which the constructor makes one element an attribute, and which serve no more.

    `self.backbone = self.nets[name]`, or by a method that returns it: torch knows the one that is used.
    """
    reads: dict[str, list[tuple[FunctionInfo, ast.Subscript]]] = {}
    others: set[str] = set()
    for method in cls.methods.values():
        picked = {id(node.value): node for node in own(method, ast.Subscript)}
        for node in own(method, ast.Attribute):
            if isinstance(node.ctx, ast.Load) and attribute_of(node, method.self_name or "") is not None:
                if id(node) in picked and isinstance(picked[id(node)].ctx, ast.Load):
                    reads.setdefault(node.attr, []).append((method, picked[id(node)]))
                else:
                    others.add(node.attr)
    return {
        f"self.{name}"
        for name, taken in reads.items()
        if name not in others
        and all(
            not isinstance(node.slice, ast.Constant) and _becomes_attribute(cls, method, node) for method, node in taken
        )
    }


def _becomes_attribute(cls: ClassInfo, method: FunctionInfo, node: ast.Subscript) -> bool:
    """Tell whether the constructor stores what it takes out itself, or what a method returns that takes it out."""
    init = cls.methods.get("__init__")
    names = {name for name, value in assignments(method) if value is node}

    def holds(value: ast.expr, me: str) -> bool:
        same = method is init and (value is node or (isinstance(value, ast.Name) and value.id in names))
        return same or (isinstance(value, ast.Call) and attribute_of(value.func, me) == method.name)

    return init is not None and any(
        attribute_of(target, init.self_name or "") is not None and holds(assigned.value, init.self_name or "")
        for assigned in own(init, ast.Assign)
        for target in assigned.targets
    )


def _run_over(loop: ast.For, given: list[ast.expr]) -> Iterator[str]:
    """Yield the container that a loop takes one of `given` from; `zip` goes through several side by side."""
    pairs = [(loop.target, loop.iter)]
    if isinstance(loop.target, ast.Tuple) and isinstance(loop.iter, ast.Call):
        pairs = list(zip(loop.target.elts, loop.iter.args, strict=False))
    names = {node.id for node in given if isinstance(node, ast.Name)}
    for target, source in pairs:
        if isinstance(target, ast.Name) and target.id in names:
            yield ast.unparse(source)
