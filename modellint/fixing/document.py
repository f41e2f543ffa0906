"""A file as its fixers see it: LibCST's tree with places and parents, and what fixers do to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeAlias, TypeVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from modellint.diagnostic import Position, Span
from modellint.sources import SourceFile

Node = TypeVar("Node", bound=cst.CSTNode)
Statement: TypeAlias = "cst.SimpleStatementLine | cst.BaseCompoundStatement"
Replacement: TypeAlias = "cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel"
Rewrite: TypeAlias = Callable[[cst.CSTNode], Replacement]


class Unreadable(ValueError):
    """LibCST does not understand the text, although Python does."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a fixer makes of a file, what it did in words, and whether that is certainly what the author meant."""

    module: cst.Module
    message: str
    safe: bool = False


class Document:
    """One parsed file. Nodes are those of `module`; a change makes a new module and leaves this one alone."""

    def __init__(self, source: SourceFile) -> None:
        """Parse `source`; raise `Unreadable` where LibCST cannot, or would not give back the same text."""
        try:
            wrapper = MetadataWrapper(cst.parse_module(source.text), unsafe_skip_copy=True)
            self._ranges: Mapping[cst.CSTNode, CodeRange] = wrapper.resolve(PositionProvider)
            self._parents = _parents_below(wrapper.module)
        except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError, ValueError) as error:
            raise Unreadable(str(error)) from error
        self.source = source
        self.module = wrapper.module
        if self.module.code != source.text:
            raise Unreadable("LibCST writes another text")

    # -- places --------------------------------------------------------------------------------------------

    def span(self, node: cst.CSTNode) -> Span:
        """Return where `node` stands, without the parentheses around it."""
        place = self._ranges[node]
        return Span.of(place.start.line, place.start.column + 1, place.end.line, place.end.column + 1)

    @cached_property
    def _by_start(self) -> dict[Position, list[cst.CSTNode]]:
        found: dict[Position, list[cst.CSTNode]] = {}
        for node in self._ranges:
            if isinstance(node, (cst.BaseExpression, cst.BaseSmallStatement, cst.BaseStatement)):
                found.setdefault(self.span(node).start, []).append(node)
        return found

    def at(self, span: Span, kind: type[Node]) -> Node | None:
        """Return the outermost node of `kind` that stands exactly at `span`."""
        found = [n for n in self._by_start.get(span.start, ()) if isinstance(n, kind) and self.span(n).end == span.end]
        return min(found, key=self.depth, default=None)

    def starting(self, position: Position, kind: type[Node]) -> Node | None:
        """Return the outermost node of `kind` that begins at `position`."""
        found = [n for n in self._by_start.get(position, ()) if isinstance(n, kind)]
        return min(found, key=self.depth, default=None)

    # -- ancestors -----------------------------------------------------------------------------------------

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the parent of `node`, which is not the module."""
        return self._parents[node]

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the parents of `node`, the nearest first, the module last."""
        while node is not self.module:
            node = self._parents[node]
            yield node

    def depth(self, node: cst.CSTNode) -> int:
        """Return how many parents `node` has."""
        return sum(1 for _ in self.ancestors(node))

    def enclosing(self, node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> cst.CSTNode | None:
        """Return the nearest parent of `node` that is one of `kinds`."""
        return next((parent for parent in self.ancestors(node) if isinstance(parent, kinds)), None)

    def scope(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Module:
        """Return the function whose body holds `node`, or the module."""
        below = node
        for parent in self.ancestors(node):
            if isinstance(parent, cst.FunctionDef) and below is parent.body:
                return parent
            below = parent
        return self.module

    def statements(self, node: cst.CSTNode) -> Iterator[Statement]:
        """Yield the statements around `node` that stand in a block, the innermost first, up to its scope's body."""
        for inner in (node, *self.ancestors(node)):
            if isinstance(inner, (cst.FunctionDef, cst.Lambda, cst.ClassDef)) and inner is not node:
                return
            if isinstance(inner, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) and self.block(inner):
                yield inner

    def block(self, statement: cst.CSTNode) -> cst.IndentedBlock | cst.Module | None:
        """Return the block in whose body `statement` stands."""
        parent = self._parents.get(statement)
        return parent if isinstance(parent, (cst.IndentedBlock, cst.Module)) else None

    def cell(self, node: cst.CSTNode) -> int | None:
        """Return the number of the cell that `node` begins in, None outside notebooks."""
        return self.source.locate(self.span(node).start.row)[0]

    # -- changes -------------------------------------------------------------------------------------------

    def rewritten(self, rewrites: Mapping[cst.CSTNode, Rewrite]) -> cst.Module:
        """Return the module with each node of `rewrites` replaced by what its function makes of it."""
        around = {parent for node in rewrites for parent in self.ancestors(node)}
        changed = self.module.visit(_Rewriter(rewrites, around))
        assert isinstance(changed, cst.Module)
        return changed

    def replaced(self, old: cst.CSTNode, new: cst.CSTNode) -> cst.Module:
        """Return the module with `new` in the place of `old`."""
        return self.rewritten({old: lambda _: new})

    def parse(self, code: str) -> Statement:
        """Return `code` as a statement of this file."""
        return cst.parse_statement(code, self.module.config_for_parsing)


def _parents_below(root: cst.CSTNode) -> dict[cst.CSTNode, cst.CSTNode]:
    """Return the parent of every node below `root`; LibCST's own provider takes ten times as long."""
    found: dict[cst.CSTNode, cst.CSTNode] = {}
    names: dict[type, list[str]] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind not in names:
            names[kind] = [field.name for field in fields(kind)]
        for name in names[kind]:
            value = getattr(node, name)
            children = value if isinstance(value, (list, tuple)) else (value,)
            for child in children:
                if isinstance(child, cst.CSTNode):
                    found[child] = node
                    stack.append(child)
    return found


class _Rewriter(cst.CSTTransformer):
    """Rewrites nodes; visits nothing but these and what is `around` them."""

    def __init__(self, rewrites: Mapping[cst.CSTNode, Rewrite], around: Collection[cst.CSTNode]) -> None:
        super().__init__()
        self._rewrites = rewrites
        self._around = around

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self._around

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> Replacement:  # type: ignore[override]
        rewrite = self._rewrites.get(original_node)
        return updated_node if rewrite is None else rewrite(updated_node)


def leading_lines(statement: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    """Return the empty lines and comments above a statement."""
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    return lines


def before(code: Statement) -> Rewrite:
    """Return a rewrite that puts `code` before a statement, under the comments that stand above it."""

    def rewrite(node: cst.CSTNode) -> Replacement:
        first = code.with_changes(leading_lines=leading_lines(node))
        return cst.FlattenSentinel([first, node.with_changes(leading_lines=[])])

    return rewrite


def behind(code: Statement) -> Rewrite:
    """Return a rewrite that puts `code` behind a statement."""
    return lambda node: cst.FlattenSentinel([node, code])
