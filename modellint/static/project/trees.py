"""Texts into syntax trees, whole files or single functions of one that was let go of; and ways through a tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

FunctionNode: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
Statement: TypeAlias = "ast.Expr | ast.With | ast.AsyncWith"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = frozenset({"body", "handlers", "orelse", "finalbody", "cases"})
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST


def parse_text(text: str, path: Path) -> ast.Module:
    """Parse a program; raise `SyntaxError` where it is none of this Python."""
    tree: ast.Module = compile(text, str(path), "exec", _ONLY_AST, dont_inherit=True)
    return tree


def rows_of(node: ast.stmt) -> tuple[int, int]:
    """Return the first row of a statement, decorators included, and the last."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)]), node.end_lineno or node.lineno


def parse_function(lines: Sequence[str], rows: tuple[int, int], path: Path) -> FunctionNode | None:
    """Parse the definition in `rows`, counted from 1, of a file; the nodes stand where they stand in the file.

    Returns None where these rows are no definition by themselves.
    """
    first, last = rows
    text = "\n".join(lines[first - 1 : last])
    in_block = text[:1].isspace()  # which it cannot stand without
    try:
        (node,) = parse_text("\n" * (first - 2) + ("if 1:\n" if in_block else "\n" * (first > 1)) + text, path).body
        if isinstance(node, ast.If):
            (node,) = node.body
    except (SyntaxError, ValueError):
        return None
    return node if isinstance(node, FUNCTIONS) and rows_of(node) == rows else None


class Extent(NamedTuple):
    """The rows of a definition, decorators included, and where what it holds begins: row and offset in bytes."""

    first: int
    last: int
    start: int
    offset: int


def extent_of(node: FunctionNode) -> Extent:
    """Return where a definition stands."""
    return Extent(*rows_of(node), rows_of(node.body[0])[0], node.body[0].col_offset)


def parse_outline(lines: Sequence[str], extents: Sequence[Extent], path: Path) -> tuple[ast.Module, int] | None:
    """Parse a file without what its outermost functions hold; `extents` are theirs.

    All other nodes stand where they stand in the file. Returns the length of what was parsed, too; None where leaving
    out these rows leaves another program.
    """
    if any(extent.last > len(lines) for extent in extents):
        return None  # there are more ways to end a line than `lines` were split at
    rest = list(lines)
    for extent in extents:
        kept = lines[extent.start - 1].encode(errors="surrogatepass")[: extent.offset]
        emptied = [kept.decode(errors="replace") + "...", *[""] * (extent.last - extent.start)]
        rest[extent.start - 1 : extent.last] = emptied
    text = "\n".join(rest)
    try:
        tree = parse_text(text, path)
    except (SyntaxError, ValueError):
        return None
    found = [rows_of(node)[0] for node in functions_in(tree.body)]
    return (tree, len(text)) if found == [extent.first for extent in extents] else None


def functions_in(nodes: Sequence[ast.AST]) -> Iterator[FunctionNode]:
    """Yield the definitions of functions below `nodes`, each after those inside it, else in the order of the text."""
    stack: list[ast.AST] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        if isinstance(node, FUNCTIONS):
            yield from functions_in(node.body)
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from functions_in(node.body)
        else:
            for name in reversed(node._fields):
                if name in _BLOCKS:
                    stack.extend(reversed(getattr(node, name)))


def calls_and_statements(nodes: Sequence[ast.AST]) -> tuple[list[ast.Call], list[Statement]]:
    """Return the calls below `nodes`, and the bare expressions and `with` blocks, both in the order of the text.

    What stands in functions below `nodes` is left out. They are what `scan` finds, in the same order.
    """
    calls: list[ast.Call] = []
    statements: list[Statement] = []
    stack: list[ast.AST] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name or kind is ast.Constant:
            continue
        if kind is ast.Attribute:
            stack.append(node.value)  # type: ignore[attr-defined]
            continue
        if isinstance(node, FUNCTIONS):
            stack.extend(reversed(node.decorator_list))
            stack.extend(d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
            continue
        if isinstance(node, ast.ClassDef):
            stack.extend(reversed(node.decorator_list + node.bases))
            stack.extend(reversed(node.body))
            continue
        if kind is ast.Call:
            calls.append(node)  # type: ignore[arg-type]
        elif isinstance(node, (ast.Expr, ast.With, ast.AsyncWith)):
            statements.append(node)
        for name in reversed(node._fields):
            value = getattr(node, name)
            if type(value) is list:
                stack.extend(item for item in reversed(value) if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                stack.append(value)
    return calls, statements


_ATOMS = frozenset(
    "arg asname attr conversion ctx id is_async kind kwd_attrs level lineno module op ops rest simple str tag "
    "type_comment type_ignores".split()
)
"""Fields of nodes that hold texts, numbers, and nodes that have nothing below them."""


class _Parts(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of a kind of node that nodes can stand in."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        named = kind.__name__ == "TypeAlias"  # everywhere else a name is a text
        parts = [name for name in kind._fields if name not in _ATOMS and (name != "name" or named)]
        self[kind] = () if kind in (ast.Constant, ast.Global, ast.MatchSingleton, ast.Nonlocal) else tuple(parts)
        return self[kind]


_PARTS = _Parts()


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes in a node, as `ast.iter_child_nodes` does, without `ast.Load`, `ast.Add` and the like."""
    found: list[ast.AST] = []
    for name in _PARTS[type(node)]:
        value = getattr(node, name, None)
        if type(value) is list:
            found += filter(None, value)  # `{**more}` has a key that is None
        elif value is not None:
            found.append(value)
    return found


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """Walk like `ast.walk`, in its order, through `children`."""
    nodes = [root]
    for node in nodes:
        yield node
        for name in _PARTS[type(node)]:  # `children`, without a call for each node
            value = getattr(node, name, None)
            if type(value) is list:
                nodes += filter(None, value)
            elif value is not None:
                nodes.append(value)
