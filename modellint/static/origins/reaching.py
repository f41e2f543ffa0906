"""Which assignments of a function a use of a variable may see."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from modellint.static.origins.values import APPENDED, ELEMENT, Step
from modellint.static.project import FunctionInfo
from modellint.static.project.trees import children

Position = tuple[int, int]
END: Position = (1 << 30, 0)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


@dataclass(frozen=True, slots=True)
class Definition:
    """An assignment: the name gets the element along `path` of `value`.

    `blocks` are the statements around it with the part of each that it stands in; `extent` is where it holds, for the
    variable of a comprehension; `end` the position from which it is seen.
    """

    value: ast.expr
    path: tuple[Step, ...]
    end: Position
    blocks: tuple[tuple[int, str], ...]
    extent: tuple[Position, Position] | None = None


@dataclass(frozen=True, slots=True)
class Definitions:
    """The assignments of one function: to variables, to attributes and items of them; what it returns, its loops."""

    names: dict[str, list[Definition]]
    attributes: dict[tuple[str, str], list[Definition]]
    items: dict[str, list[tuple[Step, Definition]]]
    returns: list[ast.expr]
    loops: list[tuple[ast.For | ast.AsyncFor | ast.comprehension, tuple[tuple[int, str], ...]]]
    statements: list[tuple[Position, Position, tuple[tuple[int, str], ...]]]
    found_blocks: dict[Position, tuple[tuple[int, str], ...]] = field(default_factory=dict)

    def blocks_at(self, node: ast.AST) -> tuple[tuple[int, str], ...]:
        """Return the blocks around the statement that holds `node`."""
        place = _start(node)
        known = self.found_blocks.get(place)
        if known is not None:
            return known
        best: tuple[tuple[int, str], ...] = ()
        for start, end, blocks in self.statements:
            if start <= place < end and len(blocks) >= len(best):
                best = blocks
        self.found_blocks[place] = best
        return best

    def reaching(self, name: str, use: ast.AST | None) -> list[Definition]:
        """Return the definitions of `name` that the use at the node `use` may see (None: after everything)."""
        every = self.names.get(name, [])
        if use is None:
            return _unkilled(every, END, ())
        place = _start(use)
        inner = [d for d in every if d.extent is not None and d.extent[0] <= place < d.extent[1]]
        if inner:
            return inner[-1:]
        return _unkilled([d for d in every if d.extent is None], place, self.blocks_at(use))


def _unkilled(every: list[Definition], place: Position, blocks: tuple[tuple[int, str], ...]) -> list[Definition]:
    every = [d for d in every if d.extent is None and not _exclusive(d.blocks, blocks)]
    before = [d for d in every if d.end <= place]
    for index in range(len(before) - 1, -1, -1):
        if before[index].blocks == blocks[: len(before[index].blocks)]:
            return before[index:]
    return before or every


def _exclusive(a: tuple[tuple[int, str], ...], b: tuple[tuple[int, str], ...]) -> bool:
    """Tell whether two places are in different branches of one statement."""
    branches = dict(a)
    return any(number in branches and branches[number] != part for number, part in b)


def _start(node: ast.AST) -> Position:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> Position:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def definitions(function: FunctionInfo) -> Definitions:
    """Collect the assignments of `function`, in the order of the text."""
    found = Definitions({}, {}, {}, [], [], [])
    _block(found, function.body, ())
    return found


def _block(found: Definitions, statements: list[ast.stmt], blocks: tuple[tuple[int, str], ...]) -> None:
    for statement in statements:
        if isinstance(statement, _NESTED):
            continue
        found.statements.append((_start(statement), _end(statement), blocks))
        _statement(found, statement, blocks)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(statement, part, None)
            if isinstance(inner, list) and inner:
                name = part if isinstance(statement, (ast.If, ast.Try)) else "body"
                if isinstance(statement, (ast.With, ast.AsyncWith)):
                    _block(found, inner, blocks)  # a `with` always runs
                elif part in ("handlers", "cases"):
                    for index, branch in enumerate(inner):
                        _block(found, branch.body, (*blocks, (id(statement), f"{part}{index}")))
                else:
                    _block(found, inner, (*blocks, (id(statement), name)))


def _statement(found: Definitions, statement: ast.stmt, blocks: tuple[tuple[int, str], ...]) -> None:
    end = _end(statement)
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            _bind(found, target, statement.value, (), end, blocks, None)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        _bind(found, statement.target, statement.value, (), end, blocks, None)
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        found.loops.append((statement, blocks))
        _bind(found, statement.target, statement.iter, (ELEMENT,), _end(statement.iter), blocks, None)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if item.optional_vars is not None:
                _bind(found, item.optional_vars, item.context_expr, (), _end(item.optional_vars), blocks, None)
    elif isinstance(statement, ast.Return) and statement.value is not None:
        found.returns.append(statement.value)
    elif isinstance(statement, ast.Expr) and (appended := _appended(statement.value)) is not None:
        held, given = appended
        found.items.setdefault(held, []).append((APPENDED, Definition(given, (), end, blocks)))
    for node in _own_expressions(statement):
        if isinstance(node, ast.NamedExpr):
            _bind(found, node.target, node.value, (), _end(node), blocks, None)
        elif isinstance(node, _COMPREHENSIONS):
            for generator in node.generators:
                found.loops.append((generator, blocks))
                _bind(
                    found,
                    generator.target,
                    generator.iter,
                    (ELEMENT,),
                    _start(node),
                    blocks,
                    (_start(node), _end(node)),
                )


def _appended(call: ast.expr) -> tuple[str, ast.expr] | None:
    """Return the list, as it is written, and what `loaders.append(loader)` puts into it."""
    match call:
        case ast.Call(ast.Attribute(ast.Name(held), "append"), [given], []):
            return held, given
        case ast.Call(ast.Attribute(ast.Attribute(ast.Name(owner), held), "append"), [given], []):
            return f"{owner}.{held}", given
    return None


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Walk the expressions of a statement, without the statements inside it."""
    stack: list[ast.AST] = [c for c in children(statement) if not isinstance(c, ast.stmt)]
    while stack:
        node = stack.pop()
        yield node
        stack += [c for c in children(node) if not isinstance(c, ast.stmt)]


def _bind(
    found: Definitions,
    target: ast.expr,
    value: ast.expr,
    path: tuple[Step, ...],
    end: Position,
    blocks: tuple[tuple[int, str], ...],
    extent: tuple[Position, Position] | None,
) -> None:
    if isinstance(target, ast.Name):
        found.names.setdefault(target.id, []).append(Definition(value, path, end, blocks, extent))
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        key = (target.value.id, target.attr)
        found.attributes.setdefault(key, []).append(Definition(value, path, end, blocks, extent))
    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        index = target.slice
        entry: Step = ELEMENT
        if isinstance(index, ast.Constant):
            entry = index.value if isinstance(index.value, int) else repr(index.value)
        stored = Definition(value, path, end, blocks, extent)
        found.items.setdefault(target.value.id, []).append((entry, stored))
    elif isinstance(target, (ast.Tuple, ast.List)):
        starred = any(isinstance(item, ast.Starred) for item in target.elts)
        for place, item in enumerate(target.elts):
            step: Step = ELEMENT if starred else place
            _bind(found, item, value, (*path, step), end, blocks, extent)
