"""The text of a file and as much of its syntax tree as somebody asked for: trees are large, and most are read once."""

from __future__ import annotations

import ast
import itertools
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from modellint.static.project.trees import functions_in, parse_function, parse_outline, parse_text

if TYPE_CHECKING:
    from modellint.static.project.facts import FunctionInfo, ModuleInfo

_TURNS = itertools.count()


class Syntax:
    """The text of `module` with its tree, which can be let go of.

    What is asked for then is parsed again: the top level without what stands in functions, single functions as long as
    these are a small part of the text, or all of it. `size` counts the characters of the text. `turn` grows with each
    tree: the lower, the longer ago this one was made.
    """

    def __init__(self, module: ModuleInfo, text: str, tree: ast.Module) -> None:
        self._module = module
        self.size = len(text)
        self._text = text
        self._packed = b""
        self._tree: ast.Module | None = tree
        self._outline: ast.Module | None = None
        self.turn = next(_TURNS)
        self._lines: list[str] = []
        self._sliced = 0  # characters, about, of what was parsed by itself

    @property
    def text(self) -> str:
        """The text; without the tree, it is kept packed."""
        if self._text or not self._packed:
            return self._text
        return zlib.decompress(self._packed).decode("utf-8", "surrogatepass")

    @property
    def tree(self) -> ast.Module:
        """The whole tree."""
        self._complete()
        assert self._tree is not None
        return self._tree

    @property
    def top(self) -> list[ast.stmt]:
        """The statements of the top level. Functions among them may be empty: `FunctionInfo.body` has what they hold.

        They are the same nodes until the tree is let go of, or restored for a check of the file itself.
        """
        if self._outline is None and self._tree is None:
            outermost = [function for function in self._module.functions if function.parent is self._module.body]
            found = parse_outline(self._split(), [function.extent for function in outermost], self._module.path)
            if found is not None:
                self._outline, length = found
                self._sliced += length
        return (self._outline or self.tree).body

    @property
    def held(self) -> int:
        """How many characters there are behind the nodes in memory."""
        return self.size if self._tree is not None else self._sliced

    def restore(self) -> None:
        """Have the whole tree, functions in their places at the top level."""
        if self._outline is not None:
            self._outline = None
            self._module.body.take_node(None)
        self._complete()

    def _complete(self) -> None:
        """Parse the whole text if the tree is gone; the functions that were parsed by themselves keep their nodes."""
        if self._tree is not None:
            return
        module = self._module
        self._text = self.text
        self._lines, self._sliced = [], 0
        self._tree = parse_text(self._text, module.path)
        self.turn = next(_TURNS)
        for function, node in zip(module.functions, functions_in(self._tree.body), strict=True):
            if not function.has_node:
                function.take_node(node)
            elif function.parent is module.body:
                function.join_tree(node)

    def _split(self) -> Sequence[str]:
        self._lines = self._lines or self.text.split("\n")
        return self._lines

    def bring_back(self, function: FunctionInfo) -> None:
        """Parse the definition of a function again, with as much of the file as that takes."""
        module = self._module
        while function.parent is not None and function.parent is not module.body:
            function = function.parent
        if self._tree is None and function.parent is not None:
            lines = self._split()
            first, last = function.rows
            self._sliced += self.size * (last - first + 1) // len(lines)
            node = parse_function(lines, function.rows, module.path) if self._sliced < self.size // 2 else None
            again = list(functions_in([node])) if node is not None else []
            known = list(function.inner())
            if [one.name for one in again] == [one.name for one in known]:
                for one, found in zip(known, again, strict=True):
                    one.take_node(found)
                return
        self._complete()

    def let_go(self) -> None:
        """Drop every node."""
        if not self.held:
            return
        self._tree, self._outline, self._lines, self._sliced = None, None, [], 0
        if self._text:
            self._packed = self._packed or zlib.compress(self._text.encode("utf-8", "surrogatepass"), 1)
            self._text = ""
        for function in [self._module.body, *self._module.functions]:
            function.take_node(None)
