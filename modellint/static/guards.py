"""Conditions around a node: is what stands there tied to the training mode?"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

from modellint.static.naming import MOVES
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import names_in
from modellint.static.project.trees import children, walk

MODE_NAME = re.compile(
    r"(^|_)(is_)?train(ing|_mode)?($|_)|^(deterministic|inference|mode|stochastic|sample|sampling)$|dropout_switch|_switch$|"
    r"^(use|with|apply|enable)_dropout$|_sampl(e|ing)$"
)
_INNER = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef})


def path_to(function: FunctionInfo, target: ast.AST) -> list[ast.AST]:
    """Return the nodes from the body of `function` down to `target`."""
    row, column = target.lineno, target.col_offset  # type: ignore[attr-defined]
    path: list[ast.AST] = []
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        for node in nodes:
            if node is target:
                return [*path, node]
            if _spans(node, row, column, target):
                path.append(node)
                nodes = children(node)
                break
        else:
            return path
    return path


def _spans(node: ast.AST, row: int, column: int, target: ast.AST) -> bool:
    if not hasattr(node, "lineno"):
        return any(inner is target for inner in walk(node))
    if (node.lineno, node.col_offset) > (row, column):  # type: ignore[attr-defined]
        return False
    end = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return end >= (target.end_lineno, target.end_col_offset)  # type: ignore[attr-defined]


def loops_around(function: FunctionInfo, target: ast.AST) -> list[ast.For | ast.AsyncFor | ast.While]:
    """Return the loops of `function` that `target` stands in, outermost first."""
    return [outer for outer in path_to(function, target) if isinstance(outer, (ast.For, ast.AsyncFor, ast.While))]


def conditions(function: FunctionInfo, target: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the conditions under which `target` runs, with whether each must hold or must not."""
    path = path_to(function, target)
    for outer, inner in zip([None, *path], path, strict=False):
        if isinstance(outer, (ast.If, ast.While)):
            if inner in outer.body:
                yield outer.test, True
            elif inner in outer.orelse:
                yield outer.test, False
        elif isinstance(outer, ast.IfExp):
            if inner is outer.body:
                yield outer.test, True
            elif inner is outer.orelse:
                yield outer.test, False
        elif isinstance(outer, ast.BoolOp) and inner in outer.values:
            holds = isinstance(outer.op, ast.And)
            for value in outer.values[: outer.values.index(inner)]:
                yield value, holds
        for before in statements_before(outer if outer is not None else function, inner):
            if isinstance(before, ast.Assert):
                yield before.test, True
            elif (
                isinstance(before, ast.If)
                and before.body
                and isinstance(before.body[-1], (ast.Return, ast.Raise, ast.Continue))
            ):
                yield before.test, False


def alone(statement: ast.Expr) -> list[ast.expr]:
    """Return the expressions whose values a statement throws away: its own, those of `a.eval(), b.eval()`."""
    return list(choices(statement.value))


def choices(value: ast.expr) -> Iterator[ast.expr]:
    """Yield what stands for a value: the elements of a tuple, the branches of a choice."""
    if isinstance(value, ast.IfExp):
        yield from choices(value.body)
        yield from choices(value.orelse)
    elif isinstance(value, ast.Tuple):
        for element in value.elts:
            yield from choices(element)
    else:
        yield value


def entered(manager: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """Return what a `with` enters, and what it passes over: of `a() and b()` the last, as context managers are true."""
    if isinstance(manager, ast.BoolOp) and isinstance(manager.op, ast.And):
        *left, last = manager.values
        if all(isinstance(value, ast.Call) for value in left):
            return last, left
    return manager, []


def never_reached(function: FunctionInfo, target: ast.AST) -> bool:
    """Tell whether an earlier statement of a block around `target` always leaves it."""
    leaves = (ast.Return, ast.Raise, ast.Continue, ast.Break)
    return any(isinstance(before, leaves) for before in run_before(function, target))


def run_before(function: FunctionInfo, target: ast.AST) -> Iterator[ast.stmt]:
    """Yield the earlier statements of the blocks around `target`, those of the outermost first."""
    outer: ast.AST | FunctionInfo = function
    for inner in path_to(function, target):
        yield from statements_before(outer, inner)
        outer = inner


def statements_before(outer: ast.AST | FunctionInfo, inner: ast.AST) -> list[ast.stmt]:
    """Return the statements of the block of `outer` that holds `inner` that come before it."""
    blocks = (
        [outer.body]
        if isinstance(outer, FunctionInfo)
        else [
            getattr(outer, name)
            for name in ("body", "orelse", "finalbody")
            if isinstance(getattr(outer, name, None), list)
        ]
    )
    for block in blocks:
        if inner in block:
            return list(block[: block.index(inner)])  # type: ignore[arg-type]
    return []


def tied_to_mode(function: FunctionInfo, target: ast.AST) -> bool:
    """Tell whether `target` runs only in training mode, or only when an argument asks for it."""
    return any(follows_mode(function, test) for test, _ in conditions(function, target))


def follows_mode(function: FunctionInfo, test: ast.expr) -> bool:
    """Tell whether a condition depends on the mode, itself or through a variable."""
    return speaks_of_mode(function, test) or names_mode(function, test)


def names_mode(function: FunctionInfo, test: ast.expr) -> bool:
    """Tell whether `test` asks for a variable that was computed from `self.training`."""
    names = names_in(test)
    return any(
        name in names
        and any(isinstance(node, ast.Attribute) and node.attr == "training" for node in walk(value))
        and speaks_of_mode(function, value)
        for name, value in assignments(function)
    )


def unnegated(test: ast.expr, holds: bool = True) -> tuple[ast.expr, bool]:
    """Return a condition without each `not` before it, and whether that holds where `test` does, or does not."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    return test, holds


def is_ruled_out(function: FunctionInfo, target: ast.AST, flags: Mapping[str, bool]) -> bool:
    """Tell whether `target` stands in a branch that is not taken where these variables are true or false."""
    for asked, wanted in conditions(function, target):
        test, holds = unnegated(asked, wanted)
        if isinstance(test, ast.Name) and flags.get(test.id, holds) is not holds:
            return True
    return False


def runs_in_eval_only(function: FunctionInfo, target: ast.AST) -> bool:
    """Tell whether `target` stands where `self.training` is false: a guard turned the wrong way round."""
    wrong = False
    for test, holds in conditions(function, target):
        test, holds = unnegated(test, holds)
        if isinstance(test, ast.Attribute) and test.attr == "training":
            wrong = wrong or not holds
    return wrong


def speaks_of_mode(function: FunctionInfo, test: ast.expr) -> bool:
    """Tell whether the outcome of `test` depends on `self.training` or on an argument named for the mode."""
    own = {argument.arg for argument, _ in parameters(function)}
    variants = {inner for node in walk(test) if _asks_for_a_variant(node) for inner in walk(node)}
    for node in walk(test):
        if node in variants:
            continue
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return False  # ~True and ~False are both true
        if isinstance(node, ast.Attribute):
            if node.attr == "training":
                return True
            if node.attr != "train" and MODE_NAME.search(node.attr):
                return True
        elif isinstance(node, ast.Name):
            if MODE_NAME.search(node.id) or "training" in node.id:
                return True
        elif _asks_for_a_stage(function, node):
            return True
    bare = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    match bare:
        case ast.Compare(ast.Name() as asked, [ast.Eq() | ast.Is()], [ast.Constant(True | False)]):
            bare = asked if _STAGE.search(asked.id) else bare  # `test == True`
    return isinstance(bare, ast.Name) and bare.id in own


def _asks_for_a_stage(function: FunctionInfo, node: ast.AST) -> bool:
    """Tell whether a comparison is with the name of a stage: `self.split == "train"`, of what is no constant."""
    match node:
        case ast.Compare(ast.Name() | ast.Attribute() as asked, [ast.Eq() | ast.NotEq()], [ast.Constant(str(stage))]):
            return stage.lower() in _STAGES and not _is_constant(function, ast.unparse(asked))
    return False


def _is_constant(function: FunctionInfo, attribute: str) -> bool:
    """Tell whether a class writes an attribute as a constant alone: `self.stage = "train"`."""
    methods = function.cls.methods.values() if function.cls is not None else ()
    stored = [n.value for m in methods for n in own(m, ast.Assign) if attribute in map(ast.unparse, n.targets)]
    return bool(stored) and all(isinstance(value, ast.Constant) for value in stored)


_STAGES = frozenset(
    {"train", "training", "val", "valid", "validation", "test", "testing", "eval", "infer", "inference"}
)


def _asks_for_a_variant(node: ast.AST) -> bool:
    """Tell whether a comparison is of a mode with texts that name no stage: `mode == "bilinear"`."""
    if not isinstance(node, ast.Compare) or not isinstance(node.left, (ast.Name, ast.Attribute)):
        return False
    texts = [c.value for c in node.comparators if isinstance(c, ast.Constant) and isinstance(c.value, str)]
    return len(texts) == len(node.comparators) and not any(map(_STAGE.search, texts))


_STAGE = re.compile(r"train|eval|val|test|infer|predict|sampl|generat|fit|dev|deploy|serv|learn", re.I)


def value_tied_to_mode(function: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether an argument depends on the mode: directly, through a variable, or because a caller gives it."""
    own = {argument.arg for argument, _ in parameters(function)}
    if isinstance(value, ast.Name):
        if value.id in own:
            return True
        assigned = values_of(function, value.id)
        if not assigned:
            return True  # a global, a closure: not in sight
        return any(speaks_of_mode(function, v) or _is_conditional(function, v) for v in assigned)
    return speaks_of_mode(function, value)


def _is_conditional(function: FunctionInfo, value: ast.expr) -> bool:
    return tied_to_mode(function, value)


def unmoved(value: ast.expr | None, hand_back: Container[str] = MOVES) -> ast.expr | None:
    """Return what is moved, or else given back by its own methods, in the same expression: `Net()` of `Net().to(x)`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in hand_back:
        value = value.func.value
    return value


def values_of(function: FunctionInfo, name: str) -> list[ast.expr]:
    """Return the expressions that `function` assigns to its local variable `name`."""
    return _by_name(function, assignments).get(name, [])


def put_into(function: FunctionInfo, container: str) -> list[ast.expr]:
    """Return what a function puts into a container, as it is written: `nets`, `self.nets`.

    By a subscript, by a method that adds one element, or where it is made of a display in a call.
    """
    return _by_name(function, _fillings).get(container, [])


def _fillings(function: FunctionInfo) -> Iterator[tuple[str, ast.expr]]:
    for call in function.calls_of(*_ADDS):
        if (
            isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, (ast.Name, ast.Attribute))
            and call.args
        ):
            yield ast.unparse(call.func.value), call.args[-1]
    for node in own(function, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, (ast.Name, ast.Attribute)):
                yield ast.unparse(target.value), node.value
            elif isinstance(target, (ast.Name, ast.Attribute)) and isinstance(node.value, ast.Call):
                for display in node.value.args:
                    if isinstance(display, (ast.Dict, ast.List, ast.Tuple)):
                        parts = display.values if isinstance(display, ast.Dict) else display.elts
                        yield from ((ast.unparse(target), part) for part in parts)


_ADDS = ("append", "insert", "add_module", "register_module", "setdefault")


def returned(function: FunctionInfo) -> Iterator[ast.expr]:
    """Yield what `function` returns; of a local variable, what is assigned to it."""
    for node in own(function, ast.Return):
        if isinstance(node.value, ast.Name):
            yield from values_of(function, node.value.id) or [node.value]
        elif node.value is not None:
            yield node.value


def _by_name(
    function: FunctionInfo, pairs: Callable[[FunctionInfo], Iterable[tuple[str, ast.expr]]]
) -> dict[str, list[ast.expr]]:
    """Return the values that `pairs` gives of a function for each variable, worked out once."""
    known: dict[str, list[ast.expr]] | None = function.memo.get((_by_name, pairs))
    if known is None:
        known = function.memo[_by_name, pairs] = {}
        for variable, value in pairs(function):
            known.setdefault(variable, []).append(value)
    return known


def assignments(function: FunctionInfo) -> list[tuple[str, ast.expr]]:
    """Return the local variables that `function` assigns, with the assigned expressions."""
    known: list[tuple[str, ast.expr]] | None = function.memo.get(assignments)
    if known is None:
        known = function.memo[assignments] = list(_assignments(function))
    return known


def bindings(function: FunctionInfo) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that `function` assigns, those of an unpacked tuple included, with what is assigned."""
    yield from assignments(function)
    for node in walk_own(function):
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Tuple):
            for target in node.targets:
                for item in target.elts if isinstance(target, ast.Tuple) else ():
                    if isinstance(item, ast.Name):
                        yield item.id, node.value


def values_bound(function: FunctionInfo, name: str) -> list[ast.expr]:
    """Return what `function` assigns to its local variable `name`, or to a tuple that the variable is in."""
    return _by_name(function, bindings).get(name, [])


def values_entered(function: FunctionInfo, name: str) -> list[ast.expr]:
    """Return what `function` assigns to its local variable `name`, or enters under that name: `with pool() as name`."""
    entered = (item for node in own(function, ast.With, ast.AsyncWith) for item in node.items)
    named = (i for i in entered if isinstance(i.optional_vars, ast.Name) and i.optional_vars.id == name)
    return [*values_bound(function, name), *(item.context_expr for item in named)]


def _assignments(function: FunctionInfo) -> Iterator[tuple[str, ast.expr]]:
    for node in own(function, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for item, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(item, ast.Name):
                            yield item.id, value
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and isinstance(node.target, ast.Name):
            if node.value is not None:
                yield node.target.id, node.value


def targets_of(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    """Return what an assignment stores to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def walk_own(function: FunctionInfo) -> list[ast.AST]:
    """Return the nodes of a function without those of the functions inside it, and without `ast.Load` and the like."""
    known: list[ast.AST] | None = function.memo.get(walk_own)
    if known is None:
        known = function.memo[walk_own] = list(_walk(function.body))
    return known


def own(function: FunctionInfo, *kinds: type[ast.AST]) -> list[Any]:
    """Return those nodes of `walk_own` that are one of `kinds`, in its order."""
    known: list[Any] | None = function.memo.get(kinds)
    if known is None:
        known = function.memo[kinds] = [node for node in walk_own(function) if type(node) in kinds]
    return known


def _walk(body: list[ast.stmt]) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [node for node in reversed(body) if type(node) not in _INNER]
    while stack:
        node = stack.pop()
        yield node
        stack += [inner for inner in children(node) if type(inner) not in _INNER]
