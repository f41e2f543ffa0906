"""What one Rust file declares: modules, imports, type aliases, functions, and what each function calls."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from modellint.burn.syntax import ancestors, captures, inside, parse, path_segments, text_of, type_arguments, types_in
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


@dataclass(slots=True, eq=False)
class Function:
    """A function or method with a body. `generics` maps its type parameters, its impl's too, to their bounds."""

    file: RustFile
    name: str
    module: ModulePath
    owner: str
    node: Node
    generics: Mapping[str, tuple[str, ...]]
    bounds: Mapping[str, Node]
    is_test: bool
    calls: list[Call] = field(default_factory=list)
    lets: list[Node] = field(default_factory=list)
    loops: list[Node] = field(default_factory=list)

    @property
    def types(self) -> list[Node]:
        """The types written in the function; few functions are asked for them."""
        return types_in(self.node)

    @property
    def text(self) -> str:
        """The text from the name to the end of the body."""
        return text_of(self.node)


@dataclass(frozen=True, slots=True)
class Alias:
    """`type Name = target;`"""

    file: RustFile
    module: ModulePath
    node: Node
    target: Node


@dataclass(slots=True)
class Scope:
    """The names of one module: what it declares and what it imports."""

    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    structs: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    uses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    globs: list[tuple[str, ...]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class RustFile:
    """A parsed file. Module paths are counted from the file's own root."""

    path: Path
    tree: Tree
    scopes: dict[ModulePath, Scope]
    functions: list[Function]


def read_file(path: Path, text: str) -> RustFile:
    """Parse `text` and index what it declares; raise `BurnMissing` without tree-sitter."""
    tree = parse(text)
    found = captures(tree.root_node)
    file = RustFile(path, tree, {(): Scope()}, [])
    modules = [node for node in found.get("module", ()) if child(node, "body") is not None]

    def module_of(node: Node) -> ModulePath:
        return tuple(text_of(child(m, "name")) for m in modules if m is not node and inside(node, m))

    for node in found.get("module", ()):
        file.scopes.setdefault(module_of(node), Scope()).modules.add(text_of(child(node, "name")))
        if child(node, "body") is not None:
            file.scopes.setdefault((*module_of(node), text_of(child(node, "name"))), Scope())
    for node in found.get("use", ()):
        scope = file.scopes.setdefault(module_of(node), Scope())
        for name, target in _imports(child(node, "argument"), ()):
            if name == "*":
                scope.globs.append(target)
            elif name:
                scope.uses[name] = target
    for node in found.get("alias", ()):
        if (aliased := child(node, "type")) is not None:
            module = module_of(node)
            alias = Alias(file, module, node, aliased)
            file.scopes.setdefault(module, Scope()).aliases[text_of(child(node, "name"))] = alias
    for node in found.get("struct", ()):
        file.scopes.setdefault(module_of(node), Scope()).structs.add(text_of(child(node, "name")))
    impls = found.get("impl", [])
    for node in found.get("function", ()):
        if child(node, "body") is None:
            continue
        impl = next((i for i in reversed(impls) if inside(node, i)), None)
        function = _function(file, node, module_of(node), impl)
        file.functions.append(function)
        if impl is None:
            file.scopes.setdefault(function.module, Scope()).functions.setdefault(function.name, function)
    _distribute(file, found)
    return file


def _distribute(file: RustFile, found: Mapping[str, list[Node]]) -> None:
    """Give every function the nodes of its own, not those of a function nested in it."""
    functions = sorted(file.functions, key=lambda f: f.node.start_byte)
    starts = [f.node.start_byte for f in functions]
    outer: list[int] = []
    for index, function in enumerate(functions):
        around = index - 1
        while around >= 0 and not inside(function.node, functions[around].node):
            around = outer[around]
        outer.append(around)
    for kind in ("call", "let", "loop"):
        for node in found.get(kind, ()):
            index = bisect_right(starts, node.start_byte) - 1
            while index >= 0 and not inside(node, functions[index].node):
                index = outer[index]
            if index < 0:
                continue
            if kind == "call":
                functions[index].calls.append(_call(node))
            else:
                (functions[index].lets if kind == "let" else functions[index].loops).append(node)


def _call(node: Node) -> Call:
    callee = child(node, "function")
    types = tuple(type_arguments(callee))
    arguments = child(node, "arguments")
    values = tuple(arguments.named_children) if arguments is not None else ()
    inner = child(callee, "function") if callee is not None and callee.type == "generic_function" else callee
    if inner is not None and inner.type == "field_expression":
        return Call(node, (), text_of(child(inner, "field")), child(inner, "value"), types, values)
    return Call(node, path_segments(callee), "", None, types, values)


def _function(file: RustFile, node: Node, module: ModulePath, impl: Node | None) -> Function:
    generics: dict[str, tuple[str, ...]] = {}
    places: dict[str, Node] = {}
    for holder in (impl, node):
        if holder is None:
            continue
        for name, bounds, place in _bounds(holder):
            generics[name] = (*generics.get(name, ()), *bounds)
            places[name] = place
    owner = path_segments(child(impl, "type"))[-1:] if impl is not None else ()
    is_test = any(
        _TEST.search(text_of(attribute)) for around in (node, *ancestors(node)) for attribute in _above(around)
    )
    name = text_of(child(node, "name"))
    return Function(file, name, module, owner[0] if owner else "", node, generics, places, is_test)


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
