"""Rust through tree-sitter: one parse, and queries for the nodes that matter."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

# What the index looks at; everything else is turned into a Python object only where somebody asks for it. The query is
# for the bodies of functions: what stands outside of them is found ten times faster node by node.
_KINDS = {
    "function_item": "function",
    "mod_item": "module",
    "use_declaration": "use",
    "type_item": "alias",
    "impl_item": "impl",
    "struct_item": "struct",
}
_HOLDERS = frozenset({"mod_item", "impl_item", "trait_item"})
# One of them is in every function that declares something itself.
_WORDS_INSIDE = (b"fn ", b"use ", b"type ", b"struct ", b"mod ", b"impl")
_DECLARATIONS = """
(function_item) @function
(mod_item) @module
(use_declaration) @use
(type_item) @alias
(impl_item) @impl
(struct_item) @struct
"""
_PARTS = """
(call_expression) @call
(let_declaration) @let
(for_expression) @loop
(while_expression) @loop
(loop_expression) @loop
"""
_TYPES = "[(generic_type) (type_identifier)] @type"


class BurnMissing(ImportError):
    """tree-sitter is not installed."""


@cache
def _tools() -> tuple[Any, Any, Any, Any]:
    try:
        import tree_sitter_rust
        from tree_sitter import Language, Parser, Query
    except ImportError as error:
        raise BurnMissing("Rust files need tree-sitter: pip install 'modellint[burn]'") from error
    language = Language(tree_sitter_rust.language())
    return Parser(language), *(Query(language, text) for text in (_DECLARATIONS, _PARTS, _TYPES))


def parse(text: str) -> Tree:
    """Return the syntax tree of a Rust text; raise `BurnMissing` without tree-sitter."""
    tree: Tree = _tools()[0].parse(text.encode())
    return tree


def declarations(root: Node) -> Iterator[tuple[str, Node]]:
    """Yield the declarations below `root` with their kinds, the outer ones first, in the order of the text."""
    for node in root.named_children:
        kind = node.type
        if kind in _KINDS:
            yield _KINDS[kind], node
        if kind == "ERROR":
            yield from _found(node)
        elif kind in _HOLDERS:
            if (body := field(node, "body")) is not None:
                yield from declarations(body)
        elif kind == "function_item":
            body = field(node, "body")
            if body is not None and (text := body.text) and any(word in text for word in _WORDS_INSIDE):
                yield from _found(body)


def _found(root: Node) -> list[tuple[str, Node]]:
    found = [(kind, node) for kind, nodes in _captures(1, root).items() for node in nodes]
    return sorted(found, key=lambda pair: _place(pair[1]))


def parts_of(function: Node) -> dict[str, list[Node]]:
    """Return the calls, let declarations and loops below a function, by kind, in the order of the text."""
    return {kind: sorted(nodes, key=_place) for kind, nodes in _captures(2, function).items()}


def types_in(node: Node) -> list[Node]:
    """Return the types written below `node`, the outer ones first, in the order of the text."""
    return sorted(_captures(3, node).get("type", ()), key=_place)


def _captures(query: int, node: Node) -> dict[str, list[Node]]:
    from tree_sitter import QueryCursor

    found: dict[str, list[Node]] = QueryCursor(_tools()[query]).captures(node)
    return found


def _place(node: Node) -> tuple[int, int]:
    return node.start_byte, -node.end_byte


def text_of(node: Node | None) -> str:
    """Return the source text of a node."""
    return "" if node is None or node.text is None else node.text.decode(errors="replace")


def field(node: Node | None, name: str) -> Node | None:
    """Return a child by its field name."""
    return None if node is None else node.child_by_field_name(name)


def inside(node: Node, other: Node) -> bool:
    """Tell whether `node` lies within `other`."""
    return other.start_byte <= node.start_byte and node.end_byte <= other.end_byte


def ancestors(node: Node) -> Iterator[Node]:
    """Yield the nodes around `node`, the innermost first."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def path_segments(node: Node | None) -> tuple[str, ...]:
    """Return the names of a path without its type arguments: `a::B::<C>::d` is (a, B, d)."""
    if node is None:
        return ()
    kind = node.type
    if kind in ("identifier", "type_identifier", "crate", "self", "super", "field_identifier", "metavariable"):
        return (text_of(node),)
    if kind in ("scoped_identifier", "scoped_type_identifier"):
        return (*path_segments(field(node, "path")), text_of(field(node, "name")))
    if kind == "generic_type" or kind == "generic_type_with_turbofish":
        return path_segments(field(node, "type"))
    if kind == "generic_function":
        return path_segments(field(node, "function"))
    return ("?",)


def type_arguments(node: Node | None) -> list[Node]:
    """Return the type arguments written anywhere in a path: `a::B::<C>::d::<E>` has C and E."""
    if node is None:
        return []
    found: list[Node] = []
    for name in ("path", "type", "function"):
        if node.type != "field_expression" and (child := field(node, name)) is not None:
            found += type_arguments(child)
    if (arguments := field(node, "type_arguments")) is not None:
        found += [child for child in arguments.named_children if child.type != "lifetime"]
    return found


def broken_at(tree: Tree) -> tuple[int, int] | None:
    """Return the 1-based row and column where a text stops being Rust; None where most of it was understood.

    tree-sitter goes on behind an error, and its grammar lags behind the language: on valid code of Burn itself it
    stumbles over single expressions. Only a text that is lost by a fifth or more counts as broken.
    """
    root = tree.root_node
    if not root.has_error:
        return None
    errors: list[Node] = []
    queue = [root]
    while queue:
        node = queue.pop()
        if node.type == "ERROR":
            errors.append(node)
        else:
            queue.extend(child for child in node.children if child.has_error)
    lost = sum(node.end_byte - node.start_byte for node in errors)
    if not errors or lost * 5 < root.end_byte - root.start_byte:
        return None
    first = min(errors, key=lambda node: node.start_byte)
    return first.start_point[0] + 1, first.start_point[1] + 1


def names_bound(pattern: Node | None) -> list[str]:
    """Return the names that a pattern binds."""
    if pattern is None:
        return []
    if pattern.type == "identifier":
        return [text_of(pattern)]
    return [name for child in pattern.named_children for name in names_bound(child)]
