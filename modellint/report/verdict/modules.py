"""The tree of a model's modules as nested lists, unfolded down to the culprits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

_OPEN = 1
"""Levels that are unfolded in any case."""


@dataclass(slots=True)
class _Node:
    name: str
    fact: Mapping[str, Any] | None = None
    parts: dict[str, _Node] = field(default_factory=dict)

    @property
    def guilty(self) -> bool:
        """Tell whether it, or something in it, is a culprit."""
        return bool(self.fact and self.fact["culprit_of"]) or any(part.guilty for part in self.parts.values())


def tree(modules: Sequence[Mapping[str, Any]]) -> str:
    """Return the tree of modules as `content` lists them."""
    root = _Node("(the model itself)")
    for module in modules:
        node = root
        for name in filter(None, module["path"].split(".")):
            node = node.parts.setdefault(name, _Node(name))
        node.fact = module
    return f'<ul class="tree">{"".join(_item(root, 0))}</ul>'


def _item(node: _Node, depth: int) -> Iterator[str]:
    if not node.parts:
        yield f"<li>{_line(node)}</li>"
        return
    shown = " open" if depth < _OPEN or any(part.guilty for part in node.parts.values()) else ""
    yield f"<li><details{shown}><summary>{_line(node)}</summary><ul>"
    for part in node.parts.values():
        yield from _item(part, depth + 1)
    yield "</ul></details></li>"


def _line(node: _Node) -> str:
    fact = node.fact
    if fact is None:
        return f"<code>{escape(node.name)}</code>"
    settings = ", ".join(f"{key}={value}" for key, value in fact["settings"].items())
    words = [f"{fact['type'].rpartition('.')[2]}{f'({settings})' if settings else ''}"]
    if fact["training"]:
        words.append("train mode")
    if not fact["registered"]:
        words.append("not registered")
    mark = f' <span class="chip culprit">◆ {escape(", ".join(fact["culprit_of"]))}</span>' if fact["culprit_of"] else ""
    return f"<code>{escape(node.name)}</code> <small>{escape(' · '.join(words))}</small>{mark}"
