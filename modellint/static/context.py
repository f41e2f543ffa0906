"""What a detector is given: the file, what is known around it, and the flow analysis, made when first asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modellint.diagnostic import Confidence, Severity
from modellint.static.classes import Classes
from modellint.static.datapath.consumption import Consumptions
from modellint.static.datapath.evidence import is_forward
from modellint.static.flow.asking import asks_callers
from modellint.static.flow.callfacts import CallFacts
from modellint.static.flow.engine import FileAnalysis
from modellint.static.flow.events import FORWARD, Event
from modellint.static.flow.frames import site_of
from modellint.static.flow.quiet import Quiet
from modellint.static.flow.values import Site
from modellint.static.flow.vocabulary import LOOKS_ALIKE
from modellint.static.knowledge import Knowledge
from modellint.static.naming import is_test_module
from modellint.static.origins import Resolver
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.project.callers import name_in_calls
from modellint.static.project.trails import Purpose
from modellint.static.weights import Weights

if TYPE_CHECKING:
    from modellint.static.flow.earlier import Memories


@dataclass(frozen=True, slots=True)
class Finding:
    """What a detector reports. `details` fill the placeholders of the rule's message.

    Of the `related` places one that is the finding's own is not told.
    """

    site: Site
    details: Mapping[str, Any] = field(default_factory=dict)
    confidence: Confidence = Confidence.CERTAIN
    severity: Severity | None = None
    message: str | None = None
    related: tuple[tuple[Site, str], ...] = ()


class Analyses:
    """The flow analyses of the last files, since a file and its callers ask for the same ones again and again."""

    KEPT = 128

    def __init__(
        self,
        project: Project,
        classes: Classes,
        knowledge: Knowledge,
        is_checked: Callable[[Path], bool],
        memories: Memories | None = None,
        alone: bool = False,
    ) -> None:
        self.alone = alone
        self._project = project
        self._memories = memories
        self._classes = classes
        self._knowledge = knowledge
        self.weights = Weights(classes)
        self._quiet = Quiet(project, classes, knowledge, self.weights)
        self._facts = CallFacts(project, classes, knowledge)
        self._is_checked = is_checked
        self._checked: dict[str, bool] = {}
        self._known: dict[tuple[Path, frozenset[str] | None], FileAnalysis] = {}
        self._contexts: dict[Path, FileContext] = {}
        self.consumptions = Consumptions(Resolver(project))

    def is_checked(self, path: str) -> bool:
        """Tell whether findings in the file `path` are reported in this run."""
        if path not in self._checked:
            self._checked[path] = self._is_checked(Path(path))
        return self._checked[path]

    def context(self, module: ModuleInfo) -> FileContext:
        """Return the context of a file, the same one as long as its text is the same."""
        known = self._contexts.pop(module.path, None)
        if known is None or known.module is not module:
            known = FileContext(module, self._project, self._classes, self._knowledge, self)
        self._contexts[module.path] = known
        if len(self._contexts) > self.KEPT:
            del self._contexts[next(iter(self._contexts))]
        return known

    def of(self, module: ModuleInfo) -> FileAnalysis:
        """Return the analysis of a file, with nothing run yet but its top level where it is a new one."""
        return self._kept((module.path, None), module)

    def of_callers(self, module: ModuleInfo, names: frozenset[str]) -> FileAnalysis:
        """Return the analysis of those functions of a file that call one of `names`, which other files define.

        It is another one than that of the file itself: each sees the same whichever was asked for first.
        """
        return self._kept((module.path, names), module)

    def _kept(self, key: tuple[Path, frozenset[str] | None], module: ModuleInfo) -> FileAnalysis:
        known = self._known.pop(key, None)
        if known is None or known.module is not module:
            mine = str(module.path)
            known = FileAnalysis(
                self._project,
                self._classes,
                self._knowledge,
                module,
                self._quiet,
                self._facts,
                lambda path: path == mine or self.is_checked(path),
                self._memories.of(module, key[1]) if self._memories is not None else None,
            )
            if key[1] is not None:
                known.run_callers(key[1])
        self._known[key] = known
        if len(self._known) > self.KEPT:
            del self._known[next(iter(self._known))]
        return known


class FileContext:
    """One file under analysis. `analyses` and the contexts of other files are shared with them."""

    def __init__(
        self,
        module: ModuleInfo,
        project: Project,
        classes: Classes,
        knowledge: Knowledge,
        analyses: Analyses,
    ) -> None:
        self.module = module
        self.project = project
        self.classes = classes
        self.knowledge = knowledge
        self.weights = analyses.weights
        self._analyses = analyses
        self.outside_events: list[Event] | None = None
        self.unsearched: set[FunctionInfo] = set()
        self.asked_others = False  # whether callers in other files were looked at, or are too many for that

    def is_checked(self, path: str) -> bool:
        """Tell whether findings in the file `path` are reported in this run."""
        return path == str(self.module.path) or self._analyses.is_checked(path)

    @cached_property
    def flow(self) -> FileAnalysis:
        """The flow analysis of this file.

        The functions that call what another checked file leaves to its callers are among those analysed: whichever of
        the two files is checked first, both then know the same.
        """
        if self._left_open:
            _ = self.asking_callers  # what other files ask for, before there is more
            self._own.run_callers(self._left_open)
        return self._own

    @cached_property
    def _left_open(self) -> frozenset[str]:
        """The names of what this file calls of other checked files and they leave to their callers."""
        asked = self._own.owing_callees() if self._is_followed else ()
        return frozenset(name_in_calls(callee) for callee in asked if self._is_left_open(callee))

    @cached_property
    def _own(self) -> FileAnalysis:
        """The flow analysis of the functions that are judged in this file itself."""
        analysis = self._analyses.of(self.module)
        if self._is_followed:
            analysis.run()
        return analysis

    @cached_property
    def asking_callers(self) -> frozenset[FunctionInfo]:
        """The functions that leave to callers what mode a model is in, or whether autograd is on."""
        return frozenset(event.root for event in self._own.events if asks_callers(event))

    def _is_left_open(self, callee: FunctionInfo) -> bool:
        """Tell whether a function of another file that is checked leaves something to its callers."""
        if not self.is_checked(str(callee.module.path)) or is_test_module(callee.module):
            return False
        other = self.neighbour(callee.module.path, "calls")
        return other is not None and callee in other.asking_callers

    @cached_property
    def _is_followed(self) -> bool:
        """Whether the functions of this file are analysed.

        Tests show no inference, nor does what imports a library whose models look like those of torch, and not torch.
        """
        if is_test_module(self.module):
            return False
        roots = {imported.module.split(".")[0] for imported in self.module.imports.values() if not imported.level}
        return LOOKS_ALIKE.isdisjoint(roots) or not self.knowledge.roots.isdisjoint(roots)

    @cached_property
    def _forwards(self) -> frozenset[Site]:
        return frozenset(event.site for event in self.flow.events if event.key.kind == FORWARD)

    def is_forward(self, call: ast.Call) -> bool:
        """Tell whether a call runs a model: as its name says, or else because the flow saw a model there."""
        return is_forward(call) or self.site(call) in self._forwards

    def neighbour(self, path: Path, purpose: Purpose) -> FileContext | None:
        """Return the context of another file of the project, None where it cannot be read or has no say."""
        module = self.project.load(path, self.module.path, purpose) if not self.is_alone else None
        self.asked_others |= module is not None
        return None if module is None else self._analyses.context(module)

    def callers_in(self, path: Path, names: frozenset[str]) -> list[Event]:
        """Return what was seen when the functions in the file `path` that call one of `names` were analysed."""
        module = self.project.load(path, self.module.path, "calls")
        if module is None:
            return []
        other = self._analyses.context(module)
        if self.is_checked(str(path)) and names <= other._left_open:  # it has asked the same functions for itself
            return other.flow.events
        return self._analyses.of_callers(module, names).events

    @property
    def is_alone(self) -> bool:
        """Whether this file is judged without its callers in other files."""
        return self._analyses.alone

    @property
    def consumptions(self) -> Consumptions:
        """What the loaders of the project are used for."""
        return self._analyses.consumptions

    @property
    def resolver(self) -> Resolver:
        """Where values of the project come from."""
        return self.consumptions.resolver

    @cached_property
    def scopes(self) -> list[FunctionInfo]:
        """The module's body and all its functions."""
        return [self.module.body, *self.module.functions]

    @property
    def callees(self) -> Set[str]:
        """The last names of everything that the file calls."""
        return self.module.body.callees

    def scopes_calling(self, names: Set[str]) -> Iterator[FunctionInfo]:
        """Yield the module's body and those functions in which something called by one of `names` may stand."""
        return (scope for scope in self.scopes if not names.isdisjoint(scope.callees))

    def qualified(self, scope: FunctionInfo, node: ast.expr) -> str | None:
        """Return the qualified name of what `node` (names and attributes) stands for in `scope`."""
        symbol = self.project.resolve_in(scope, node)
        return symbol.dotted if symbol is not None else None

    def site(self, node: ast.AST) -> Site:
        """Return where `node` stands in this file."""
        return site_of(self.module, node)

    def module_classes(self) -> Iterable[ClassInfo]:
        """Yield the classes of the file that are torch modules."""
        return (cls for cls in self.module.classes if self.classes.is_module(cls))
