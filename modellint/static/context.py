"""What a detector is given: the file, what is known around it, and the flow analysis, made when first asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from modellint.diagnostic import Confidence, Severity
from modellint.static.classes import Classes
from modellint.static.flow.engine import FileAnalysis
from modellint.static.flow.events import Event
from modellint.static.flow.values import Site
from modellint.static.knowledge import Knowledge
from modellint.static.project import FunctionInfo, ModuleInfo, Project


@dataclass(frozen=True, slots=True)
class Finding:
    """What a detector reports. `details` fill the placeholders of the rule's message."""

    site: Site
    details: Mapping[str, Any] = field(default_factory=dict)
    confidence: Confidence = Confidence.CERTAIN
    severity: Severity | None = None
    message: str | None = None
    related: tuple[tuple[Site, str], ...] = ()


class FileContext:
    """One file under analysis."""

    def __init__(
        self,
        module: ModuleInfo,
        project: Project,
        classes: Classes,
        knowledge: Knowledge,
        checked: frozenset[Path] | None,
    ) -> None:
        self.module = module
        self.project = project
        self.classes = classes
        self.knowledge = knowledge
        self._checked = checked
        self.outside_events: list[Event] | None = None

    def is_checked(self, path: str) -> bool:
        """Tell whether findings in the file `path` are reported in this run."""
        if path == str(self.module.path):
            return True
        return self._checked is not None and Path(path) in self._checked

    @cached_property
    def flow(self) -> FileAnalysis:
        """The flow analysis of this file."""
        analysis = FileAnalysis(self.project, self.classes, self.knowledge, self.module, self.is_checked)
        analysis.run()
        return analysis

    @cached_property
    def scopes(self) -> list[FunctionInfo]:
        """The module's body and all its functions."""
        return [self.module.body, *self.module.functions]

    def qualified(self, scope: FunctionInfo, node: ast.expr) -> str | None:
        """Return the qualified name of what `node` (names and attributes) stands for in `scope`."""
        symbol = self.project.resolve_in(scope, node)
        return symbol.dotted if symbol is not None else None

    def site(self, node: ast.AST) -> Site:
        """Return where `node` stands in this file."""
        return Site(str(self.module.path), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def module_classes(self) -> Iterable[Any]:
        """Yield the classes of the file that are torch modules."""
        return (cls for cls in self.module.classes if self.classes.is_module(cls))
