"""The modules of a traced model as a tree, with what was found in each: what the pictures draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from modellint.diagnostic import Diagnostic
from modellint.runtime.trace import INPUT, Trace


@dataclass(slots=True)
class Node:
    """A module. `marks`: the findings that name it (severity, words); `random`, `norm`: what it does now, in words."""

    path: str
    kind: str
    training: bool
    calls: int
    marks: list[tuple[str, str]] = field(default_factory=list)
    random: str = ""
    norm: str = ""
    children: list[Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition(".")[2] or "(the model)"

    @property
    def size(self) -> int:
        """Return how many modules are in it, itself included."""
        return 1 + sum(child.size for child in self.children)

    @property
    def marked(self) -> bool:
        """Tell whether something was found in it or below."""
        return bool(self.marks) or any(child.marked for child in self.children)


def tree(trace: Trace, diagnostics: Iterable[Diagnostic]) -> Node:
    """Return the root of the modules of `trace`; a file may name fewer modules than the model has."""
    nodes = {"": Node("", "", trace.root_training, 1)}
    for fact in sorted(trace.modules, key=lambda fact: fact.path.count(".")):
        if fact.path == "":
            nodes[""].kind = fact.short_type
            continue
        nodes[fact.path] = Node(fact.path, fact.short_type, fact.training, fact.calls)
    for path in list(nodes):
        if path:
            _parent(path, nodes).children.append(nodes[path])
    for op in trace.ops:
        node = nodes.get(op.module or "", nodes[""])
        if op.live and op.within is None:
            node.random = op.base
        elif "batch_norm" in op.base and op.within is None and op.taint & INPUT:
            node.norm = "batch statistics" if op.args.get("training") else "running statistics"
    for diagnostic in diagnostics:
        if diagnostic.runtime is None or diagnostic.runtime.target != trace.target:
            continue
        for path in diagnostic.runtime.evidence.get("modules", [diagnostic.runtime.module_path or ""]):
            node = nodes.get(path, nodes[""])
            node.marks.append((diagnostic.severity.value, told(diagnostic)))
    return nodes[""]


def told(diagnostic: Diagnostic) -> str:
    """Return a finding in a few words: code, name, file and row."""
    place = f"{Path(diagnostic.filename).name}:{diagnostic.span.start.row}"
    return f"{diagnostic.code} {diagnostic.name} ({place})"


def _parent(path: str, nodes: dict[str, Node]) -> Node:
    above = path.rpartition(".")[0]
    while above and above not in nodes:
        above = above.rpartition(".")[0]
    return nodes[above]


def rows(node: Node, depth: int = 0) -> list[tuple[int, Node | str]]:
    """Return what a picture without folding shows: marked modules, their neighbours, and counts of the rest."""
    shown: list[tuple[int, Node | str]] = [(depth, node)]
    quiet = 0
    for child in node.children:
        if child.marked:
            shown += [(depth + 1, _quiet(quiet))] if quiet else []
            quiet = 0
            shown += rows(child, depth + 1)
        elif depth == 0 and len(node.children) <= _FEW:
            shown.append((1, child))
        else:
            quiet += child.size
    return [*shown, *([(depth + 1, _quiet(quiet))] if quiet else [])]


_FEW = 30
"""How many parts of a model are shown although nothing is the matter with them."""


def _quiet(number: int) -> str:
    return f"{number:,} module{'' if number == 1 else 's'} without findings"


def badges(node: Node) -> Sequence[tuple[str, str]]:
    """Return (class, words) of what is to be seen of a module beside its name."""
    found = [("train" if node.training else "eval", "train" if node.training else "eval")]
    if node.random:
        found.append(("random", f"random: {node.random}"))
    if node.norm:
        found.append(("norm" if node.norm.startswith("running") else "batch", node.norm))
    return [*found, *dict.fromkeys(node.marks)]
