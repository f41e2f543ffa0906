"""Which functions are worth interpreting at all: read off their words and calls, before anything runs.

Three questions: which functions to start from, which may run a forward for their callers, which calls to skip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from modellint.catalog.framework import Hook
from modellint.static.classes import Classes
from modellint.static.flow.callfacts import CallFacts
from modellint.static.flow.vocabulary import OTHER_FRAMEWORKS, SWITCHES_OFF
from modellint.static.knowledge import Knowledge
from modellint.static.naming import speaks_of_inference
from modellint.static.project import ClassInfo, FunctionInfo, Project

_SWITCHES = frozenset(
    "eval train no_grad inference_mode enable_grad set_grad_enabled requires_grad_ requires_grad load_state_dict "
    "from_pretrained set_training_mode create_model jit hub backward".split()
)
_EVIDENCE = _SWITCHES | frozenset("volatile onnx export convert argmax topk item tolist numpy load".split())
"""Words without which nothing that happens in a function can end in a finding about modes or gradients."""


_CHANGES = _SWITCHES | frozenset({"register", "add_module", "setattr"})
"""Words without which a function leaves the models that it can reach as they are."""

_MAX_DEPTH = 6
_MAX_EVIDENCE_DEPTH = 2


def hook_of(function: FunctionInfo, project: Project, knowledge: Knowledge) -> Hook | None:
    """Return what a library does before it calls this method by itself, None if it does not call it."""
    if function.cls is None:
        return None
    family, outside = project.ancestry(function.cls)
    for base in chain(outside, _of_libraries(family, project, knowledge)):
        hook = knowledge.hook(base, function.name)
        if hook is not None:
            return hook
    return None


def _of_libraries(family: Iterable[ClassInfo], project: Project, knowledge: Knowledge) -> Iterator[str]:
    """Yield the names by which classes import their bases from a library that is in the project: a fork, a copy."""
    for cls in family:
        for base in cls.bases:
            symbol = project.resolve_in(cls.scope, base) if base is not None else None
            if symbol is not None and symbol.target is not None and knowledge.is_library(symbol.dotted):
                yield symbol.dotted


class Relevance:
    """Answers for the functions of one project; `facts` are shared by all who ask."""

    def __init__(
        self,
        project: Project,
        classes: Classes,
        knowledge: Knowledge,
        is_checked: Callable[[str], bool],
        facts: CallFacts,
    ) -> None:
        self._project = project
        self._classes = classes
        self._knowledge = knowledge
        self._is_checked = is_checked
        self._facts = facts
        self._owing: dict[FunctionInfo, bool] = {}
        self._inert: dict[FunctionInfo, bool] = {}

    # -- where to start ------------------------------------------------------------------------------------

    def is_root(self, function: FunctionInfo) -> bool:
        """Tell whether to analyse `function` on its own."""
        hook = self.hook_of(function)
        if hook is not None and hook.handles_all:
            return False
        cls = function.cls
        if cls is not None and function.name in ("forward", "__init__", "train", "eval"):
            if self._classes.is_module(cls):
                return False
        if cls is not None and self.is_foreign(cls):
            return False
        if self._facts.fits(function):
            return True  # for the other methods, which run what is trained here
        return self.owes(function) and not self._serves_evaluation(function) and self._has_evidence(function, 0)

    def hook_of(self, function: FunctionInfo) -> Hook | None:
        """Return what a library does before it calls this method by itself, None if it does not call it."""
        return hook_of(function, self._project, self._knowledge)

    def _serves_evaluation(self, function: FunctionInfo, depth: int = 0) -> bool:
        """Tell whether only methods call this one of their object that a library runs for evaluation, switched so."""
        if function.cls is None or depth > _MAX_DEPTH:
            return False
        callers = [other for other in function.module.functions if function.name in other.callees]
        if not callers or any(caller.cls is not function.cls or caller is function for caller in callers):
            return False
        hooks = {caller: self.hook_of(caller) for caller in callers}
        return all(
            hook.is_evaluation if hook is not None else self._serves_evaluation(caller, depth + 1)
            for caller, hook in hooks.items()
        )

    def is_foreign(self, cls: ClassInfo) -> bool:
        """Tell whether a class is another framework's model."""
        return any(base.split(".", 1)[0] in OTHER_FRAMEWORKS for base in self._project.ancestry(cls)[1])

    def _has_evidence(self, function: FunctionInfo, depth: int) -> bool:
        if not _EVIDENCE.isdisjoint(function.words) or "max" in function.callees:  # `_, labels = torch.max(scores, 1)`
            return True
        names = [function.name, *([function.cls.name] if function.cls else ())]
        if any(speaks_of_inference(name) for name in names) or self._is_beside_a_switch(function):
            return True
        if self._facts.loads(function):
            return True
        return depth < _MAX_EVIDENCE_DEPTH and any(
            self._has_evidence(callee, depth + 1) for callee in self._facts.callees(function)
        )

    def _is_beside_a_switch(self, function: FunctionInfo) -> bool:
        """Tell whether another method of a class that is no module switches autograd off: this one may forget to."""
        cls = function.cls
        if cls is None or self._classes.is_module(cls):
            return False
        return any(not SWITCHES_OFF.isdisjoint(method.words) for method in cls.methods.values())

    # -- what may run a forward ----------------------------------------------------------------------------

    def owes(self, function: FunctionInfo, depth: int = 0) -> bool:
        """Tell whether `function`, or one of the project's functions that it calls, may run a forward or an export."""
        if function not in self._owing:
            self._owing[function] = False  # recursion adds nothing
            result = self._facts.runs(function)
            if not result and depth < _MAX_DEPTH:
                result = any(self.owes(callee, depth + 1) for callee in self._judged_from(function))
            self._owing[function] = result
        return self._owing[function]

    def _judged_from(self, function: FunctionInfo) -> list[FunctionInfo]:
        """Return the callees whose forwards are judged together with `function`.

        What happens in another file that is checked, too, is judged there, with its callers looked up from there.
        """
        path = function.module.path
        return [
            callee
            for callee in self._facts.callees(function)
            if callee.module.path == path or not self._is_checked(str(callee.module.path))
        ]

    # -- what to skip --------------------------------------------------------------------------------------

    def is_inert(self, function: FunctionInfo, depth: int = 0) -> bool:
        """Tell whether a call of `function` can neither run a model, nor change or make one."""
        if function not in self._inert:
            self._inert[function] = True  # recursion adds nothing
            self._inert[function] = (
                _CHANGES.isdisjoint(function.words)
                and self._knowledge.switches.isdisjoint(function.callees)
                and not self._facts.runs(function)
                and not self._facts.makes(function)
                and depth < _MAX_DEPTH
                and all(self.is_inert(callee, depth + 1) for callee in self._facts.callees(function))
            )
        return self._inert[function]
