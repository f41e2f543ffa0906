"""Calls that need not be run: the function can neither build nor run a model, and is given none.

Most of what a script calls on its way to a forward prepares files, options and data. What such a function does is
read off its text once; a call of it then costs a look at its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from modellint.static.classes import Classes
from modellint.static.dependence import NO
from modellint.static.flow.making import hands_out_code
from modellint.static.flow.reading import Loud, Reading, is_loud
from modellint.static.flow.summaries import Result, Summary
from modellint.static.flow.values import (
    INSTANCE,
    MODEL,
    OPAQUE,
    UNKNOWN_MODES,
    AnySymbol,
    BoundMethod,
    ClassValue,
    External,
    FunctionValue,
    Obj,
    Partial,
    Value,
)
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.knowledge import Knowledge
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.weights import Weights

_WORDS = frozenset(
    "no_grad inference_mode enable_grad set_grad_enabled requires_grad_ requires_grad load_state_dict from_pretrained "
    "volatile set_training_mode create_model backward add_module".split()
)
"""Words that may change a mode, gradients or weights, wherever they stand."""
_MAX_REACHED = 60
_RECURSION = Summary(Result(anything=True), frozenset(), frozenset(), False)
_Key: TypeAlias = "tuple[FunctionInfo | None, ClassInfo | None]"
_FREE = 1_000_000  # deeper than any cycle


class Quiet:
    """Answers for the functions of one project; the class is that of the object whose method is called."""

    def __init__(self, project: Project, classes: Classes, knowledge: Knowledge, weights: Weights) -> None:
        self.weights = weights
        self._project = project
        self._classes = classes
        self._knowledge = knowledge
        self._known: dict[_Key, Summary | None] = {}
        self._active: dict[_Key, int] = {}
        self._tentative: dict[_Key, tuple[Summary, int]] = {}
        self._leaning = _FREE

    # -- functions -----------------------------------------------------------------------------------------

    def summary(self, function: FunctionInfo, cls: ClassInfo | None) -> Summary | None:
        """Return what a call of `function` on an object of `cls` does if it is given no model; None: run it."""
        return self._answer((function, cls), lambda: self._summarise(function, cls))

    def of_class(self, cls: ClassInfo) -> Summary | None:
        """Return what building an object of `cls` and calling its methods may do; None where that is to be run."""
        return self._answer((None, cls), lambda: self._summarise_class(cls))

    def _answer(self, key: _Key, work_out: Callable[[], Summary]) -> Summary | None:
        """Return the summary of `key`, the same whichever function of a cycle was asked for first.

        Inside a cycle a function is taken to add nothing. A summary that leans on that is kept for good only by the
        function at which the cycle was entered, for whose summary all the others are added up; for the others until
        that one is done, since there are more ways through a cycle than anybody could follow. That something has to be
        run is sure in any case.
        """
        if key in self._known:
            return self._known[key]
        if key in self._tentative:
            result, leaning = self._tentative[key]
            self._leaning = min(self._leaning, leaning)
            return result
        if key in self._active:
            self._leaning = min(self._leaning, self._active[key])
            return _RECURSION
        level = self._active[key] = len(self._active)
        if not level:
            self._tentative = {}  # of a cycle that was given up: it was too deep
        outer, self._leaning = self._leaning, _FREE
        worked_out: Summary | None = None
        try:
            worked_out = work_out()
        except Loud:
            pass
        finally:
            del self._active[key]
        if worked_out is None or self._leaning >= level:
            self._known[key] = worked_out
            self._leaning = outer
            self._tentative = {other: kept for other, kept in self._tentative.items() if kept[1] < level}
        else:
            self._tentative[key] = worked_out, self._leaning
            self._leaning = min(outer, self._leaning)
        return worked_out

    def is_module(self, cls: ClassInfo) -> bool:
        """Tell whether a class is a torch module."""
        return self._classes.is_module(cls)

    def _is_model(self, cls: ClassInfo) -> bool:
        """Tell whether a class is a module that is more than a function: one with weights, or with a mode."""
        if not self._classes.is_module(cls):
            return False
        return self._classes.dependence(cls).answer != NO or not self.weights.of(cls).is_weightless

    def _summarise_class(self, cls: ClassInfo) -> Summary:
        if self._is_model(cls):
            raise Loud
        stores: frozenset[str] = frozenset()
        reads: frozenset[tuple[ModuleInfo, str]] = frozenset()
        for owner in self._project.ancestry(cls)[0]:
            for method in owner.methods.values():
                part = self.summary(method, cls)
                if part is None:
                    raise Loud
                stores |= part.stores
                reads |= part.reads
        return Summary(Result(made=(cls,)), stores, reads, True)

    def _summarise(self, function: FunctionInfo, cls: ClassInfo | None) -> Summary:
        outer = function.parent
        if (
            function.node is None
            or function.classes
            or not _WORDS.isdisjoint(function.words)
            or (outer is not None and not outer.is_body)
            or hands_out_code(self._project, self._knowledge, function)
        ):
            raise Loud
        reading = Reading(self, self._project, self._knowledge, function, cls)
        reading.read()
        return reading.summary()

    # -- values --------------------------------------------------------------------------------------------

    def is_quiet(self, value: Value, heap: object, seen: set[int]) -> bool:
        """Tell whether no model, no function and no result of a forward can be reached from `value`."""
        if value.taint or not all(self._is_quiet_symbol(symbol, heap, seen) for symbol in value.symbols):
            return False
        return all(oid in seen or self._is_quiet_object(oid, heap, seen) for oid in value.refs)

    def _is_quiet_symbol(self, symbol: AnySymbol, heap: object, seen: set[int]) -> bool:
        """Tell whether calling something that is no object can neither build nor run a model."""
        if isinstance(symbol, BoundMethod):
            return self.is_quiet(symbol.receiver, heap, seen)
        if isinstance(symbol, Partial):
            return all(self.is_quiet(value, heap, seen) for value in (symbol.callee, *symbol.args.every()))
        if isinstance(symbol, FunctionValue):
            if symbol.frame is not None or symbol.function.cls is not None:
                return False
            known = self.summary(symbol.function, None)
            return known is not None and not known.stores
        if isinstance(symbol, ClassValue):
            return self.of_class(symbol.cls) is not None
        return isinstance(symbol, External) and not is_loud(symbol.dotted, self._knowledge)

    def _is_quiet_object(self, oid: int, heap: object, seen: set[int]) -> bool:
        obj: Obj = heap[oid]  # type: ignore[index]
        if obj.kind == INSTANCE and (not isinstance(obj.cls, ClassInfo) or self.of_class(obj.cls) is None):
            return False
        return self.holds_nothing(oid, heap, seen)

    def holds_nothing(self, oid: int, heap: object, seen: set[int]) -> bool:
        """Tell whether an object is no model and holds none."""
        seen.add(oid)
        obj: Obj = heap[oid]  # type: ignore[index]
        if obj.kind == MODEL or len(seen) > _MAX_REACHED:
            return False
        if obj.kind == OPAQUE and (obj.proven or (obj.part and obj.modes != UNKNOWN_MODES)):
            return False
        if obj.kind != INSTANCE and MODEL_NAME.match(obj.name):
            return False
        return all(self.is_quiet(value, heap, seen) for value in obj.attrs.values())
