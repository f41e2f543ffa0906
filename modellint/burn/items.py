"""What one Rust file declares: modules, imports, type aliases, functions, and what each function calls."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from modellint.burn.syntax import (
    ancestors,
    declarations,
    inside,
    parse,
    parts_of,
    path_segments,
    text_of,
    type_arguments,
    types_in,
)
from modellint.burn.syntax import field as child

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

ModulePath = tuple[str, ...]
_TEST = re.compile(r"#\[\s*(?:\w+::)*(?:test|bench)\b|#\[\s*cfg\s*\(\s*(?:any\s*\(\s*)?test\b")


@dataclass(frozen=True, slots=True)
class Call:
    """A call: of the function `path`, or of the method `method` on `receiver`; `types` are its type arguments."""

    node: Node
    path: tuple[str, ...]
    method: str
    receiver: Node | None
    types: tuple[Node, ...]
    arguments: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A function or method with a body. What it holds is looked up when somebody asks: few functions are asked."""

    file: RustFile
    name: str
    module: ModulePath
    owner: str
    node: Node
    impl: Node | None

    @property
    def key(self) -> tuple[Path, int]:
        """What tells this function from all others, also when its file is parsed again."""
        return self.file.path, self.node.start_byte

    @cached_property
    def generics(self) -> Mapping[str, tuple[str, ...]]:
        """The type parameters, those of the impl too, with the names of their bounds."""
        found: dict[str, tuple[str, ...]] = {}
        for name, bounds, _ in self._bounds():
            found[name] = (*found.get(name, ()), *bounds)
        return found

    @cached_property
    def bounds(self) -> Mapping[str, Node]:
        """Where each type parameter is bound."""
        return {name: place for name, _, place in self._bounds()}

    def _bounds(self) -> Iterator[tuple[str, tuple[str, ...], Node]]:
        if self.impl is not None:
            known = self.file.impl_bounds
            if self.impl.start_byte not in known:
                known[self.impl.start_byte] = tuple(_bounds(self.impl))
            yield from known[self.impl.start_byte]
        yield from _bounds(self.node)

    @cached_property
    def is_test(self) -> bool:
        """Whether an attribute of the function, or of what it stands in, says that it is a test or a benchmark."""
        around = (self.node, *ancestors(self.node))
        return any(_TEST.search(text_of(attribute)) for node in around for attribute in _above(node))

    @cached_property
    def calls(self) -> list[Call]:
        """The calls in the order of the text; those of a function nested in this one are not among them."""
        return [_call(node) for node in self._parts.get("call", ())]

    @property
    def lets(self) -> list[Node]:
        """The let declarations, likewise."""
        return self._parts.get("let", [])

    @property
    def loops(self) -> list[Node]:
        """The loops, likewise."""
        return self._parts.get("loop", [])

    @cached_property
    def types(self) -> list[Node]:
        """The types written in the function."""
        return types_in(self.node)

    @cached_property
    def text(self) -> str:
        """The text from the name to the end of the body."""
        return text_of(self.node)

    @cached_property
    def _parts(self) -> Mapping[str, list[Node]]:
        found = parts_of(self.node)
        nested = self.file.within(self)
        if not nested:
            return found
        return {
            kind: [node for node in nodes if not any(inside(node, other) for other in nested)]
            for kind, nodes in found.items()
        }


@dataclass(frozen=True, slots=True)
class Alias:
    """`type Name = target;`. `before`: what the name means under another feature, in the same module."""

    file: RustFile
    module: ModulePath
    node: Node
    target: Node
    before: Alias | None = None

    @property
    def variants(self) -> Iterator[Alias]:
        """This alias, and those of the other features."""
        alias: Alias | None = self
        while alias is not None:
            yield alias
            alias = alias.before


@dataclass(slots=True)
class Scope:
    """The names of one module: what it declares and what it imports."""

    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    structs: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    uses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    globs: list[tuple[str, ...]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class RustFile:
    """A parsed file. Module paths are counted from the file's own root; functions stand in the order of the text."""

    path: Path
    text: str
    tree: Tree

    @property
    def scopes(self) -> Mapping[ModulePath, Scope]:
        """What each module declares."""
        return self.index[0]

    @property
    def functions(self) -> Sequence[Function]:
        """The functions and methods with a body."""
        return self.index[1]

    @cached_property
    def index(self) -> tuple[Mapping[ModulePath, Scope], Sequence[Function]]:
        """What the file declares, worked out when somebody asks."""
        return _indexed(self)

    @property
    def is_indexed(self) -> bool:
        """Tell whether somebody has asked."""
        return "index" in self.__dict__

    @property
    def local_names(self) -> Iterator[str]:
        """The names that mean something else: of aliases and renamed imports."""
        for scope in self.scopes.values():
            yield from scope.aliases
            yield from (name for name, path in scope.uses.items() if name != path[-1])

    @cached_property
    def impl_bounds(self) -> dict[int, tuple[tuple[str, tuple[str, ...], Node], ...]]:
        """What is known of the type parameters of each impl, by its first byte: all its methods ask."""
        return {}

    @cached_property
    def _starts(self) -> list[int]:
        return [function.node.start_byte for function in self.functions]

    def within(self, function: Function) -> list[Node]:
        """Return the functions that are nested in one."""
        starts = self._starts
        first = bisect_right(starts, function.node.start_byte)
        return [other.node for other in self.functions[first : bisect_left(starts, function.node.end_byte)]]


@dataclass(frozen=True, slots=True)
class _Around:
    """What the declarations that follow stand in, up to the byte `end`: a module, an impl."""

    end: int
    module: ModulePath
    impl: Node | None
    owner: str


def read_file(path: Path, text: str) -> RustFile:
    """Parse `text`; raise `BurnMissing` without tree-sitter."""
    return RustFile(path, text, parse(text))


def _indexed(file: RustFile) -> tuple[Mapping[ModulePath, Scope], Sequence[Function]]:
    root = file.tree.root_node
    scopes: dict[ModulePath, Scope] = {(): Scope()}
    functions: list[Function] = []
    stack = [_Around(root.end_byte + 1, (), None, "")]
    for kind, node in declarations(root):
        while stack[-1].end <= node.start_byte:
            stack.pop()
        around = stack[-1]
        scope = scopes.setdefault(around.module, Scope())
        if kind == "use":
            for name, target in _imports(child(node, "argument"), ()):
                if name == "*":
                    scope.globs.append(target)
                elif name:
                    scope.uses[name] = target
            continue
        if kind == "impl":
            owner = path_segments(child(node, "type"))[-1:]
            stack.append(_Around(node.end_byte, around.module, node, owner[0] if owner else ""))
            continue
        name = text_of(child(node, "name"))
        if kind == "module":
            scope.modules.add(name)
            if child(node, "body") is not None:
                stack.append(_Around(node.end_byte, (*around.module, name), around.impl, around.owner))
                scopes.setdefault(stack[-1].module, Scope())
        elif kind == "struct":
            scope.structs.add(name)
        elif kind == "alias":
            if (aliased := child(node, "type")) is not None:
                scope.aliases[name] = Alias(file, around.module, node, aliased, scope.aliases.get(name))
        elif child(node, "body") is not None:
            function = Function(file, name, around.module, around.owner, node, around.impl)
            functions.append(function)
            if around.impl is None:
                scope.functions.setdefault(name, function)
    return scopes, functions


def _call(node: Node) -> Call:
    callee = child(node, "function")
    types = tuple(type_arguments(callee))
    arguments = child(node, "arguments")
    values = tuple(arguments.named_children) if arguments is not None else ()
    inner = child(callee, "function") if callee is not None and callee.type == "generic_function" else callee
    if inner is not None and inner.type == "field_expression":
        return Call(node, (), text_of(child(inner, "field")), child(inner, "value"), types, values)
    return Call(node, path_segments(callee), "", None, types, values)


def _above(node: Node) -> Iterator[Node]:
    before = node.prev_named_sibling
    while before is not None and before.type in ("attribute_item", "line_comment", "block_comment"):
        if before.type == "attribute_item":
            yield before
        before = before.prev_named_sibling


def _bounds(holder: Node) -> Iterator[tuple[str, tuple[str, ...], Node]]:
    """Yield (type parameter, names of its bounds, where it is written) of a function or an impl."""
    parameters = child(holder, "type_parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        name = text_of(child(parameter, "name") or child(parameter, "left") or parameter)
        yield name, _names(child(parameter, "bounds")), parameter
    for part in holder.named_children:
        if part.type == "where_clause":
            for predicate in part.named_children:
                yield text_of(child(predicate, "left")), _names(child(predicate, "bounds")), predicate


def _names(bounds: Node | None) -> tuple[str, ...]:
    if bounds is None:
        return ()
    return tuple(segments[-1] for bound in bounds.named_children if (segments := path_segments(bound)))


def _imports(node: Node | None, prefix: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (local name, full path) of a use declaration; the name is `*` for a glob."""
    if node is None:
        return
    if node.type == "scoped_use_list":
        prefix = (*prefix, *path_segments(child(node, "path")))
        node = child(node, "list")
    if node is None:
        return
    if node.type == "use_list":
        for item in node.named_children:
            yield from _imports(item, prefix)
    elif node.type == "use_as_clause":
        yield text_of(child(node, "alias")), (*prefix, *path_segments(child(node, "path")))
    elif node.type == "use_wildcard":
        inner = node.named_children[0] if node.named_children else None
        yield "*", (*prefix, *path_segments(inner))
    elif node.type in ("identifier", "scoped_identifier", "crate", "super"):
        path = (*prefix, *path_segments(node))
        yield path[-1], path
    elif node.type == "self" and prefix:
        yield prefix[-1], prefix
