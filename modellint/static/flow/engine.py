"""Runs the flow analysis of one file: its top level, every function and method that matters, and their callers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from modellint.static.classes import Classes
from modellint.static.flow.binding import unknown_arguments
from modellint.static.flow.callfacts import CallFacts
from modellint.static.flow.calls import call_value
from modellint.static.flow.decorators import begun_with, hides_mode
from modellint.static.flow.events import Event
from modellint.static.flow.expressions import EXPRESSIONS
from modellint.static.flow.frames import Frame, site_of
from modellint.static.flow.heirs import leaves_open, runs_what_is_filled
from modellint.static.flow.instances import Instances
from modellint.static.flow.machine import CALL_SHARE, MAX_STEPS, Exhausted, Machine
from modellint.static.flow.packages import grad_at_import
from modellint.static.flow.quiet import Quiet
from modellint.static.flow.relevance import Relevance
from modellint.static.flow.startup import start_up
from modellint.static.flow.state import State, join_states
from modellint.static.flow.statements import STATEMENTS
from modellint.static.flow.values import (
    ENTRY,
    ENTRY_MODES,
    ON,
    Args,
    ClassValue,
    FunctionValue,
    Grad,
    ModeFact,
    Value,
)
from modellint.static.knowledge import Knowledge
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo, Project
from modellint.static.project.facts import parameters

if TYPE_CHECKING:
    from modellint.static.flow.earlier import Memory

T = TypeVar("T")


class FileAnalysis:
    """The analysis of one file. `events` are what happened in it and in the code that it calls."""

    def __init__(
        self,
        project: Project,
        classes: Classes,
        knowledge: Knowledge,
        module: ModuleInfo,
        quiet: Quiet,
        facts: CallFacts,
        is_checked: Callable[[str], bool],
        memory: Memory | None = None,
    ) -> None:
        self.module = module
        self._facts = facts
        self._relevance = Relevance(project, classes, knowledge, is_checked, facts)
        self._caller_relevance = Relevance(project, classes, knowledge, lambda path: False, facts)
        is_inert = self._relevance.is_inert
        self._make_machine: Callable[[], Machine] = lambda: Machine(
            project, classes, knowledge, EXPRESSIONS, STATEMENTS, call_value, is_inert, quiet, module
        )
        self._runs: list[tuple[Relevance, frozenset[str] | None]] = []
        self._begin(memory)

    def _begin(self, memory: Memory | None) -> None:
        """Start with nothing run; with `memory`, what it knows of an earlier version of the file is not run again."""
        self._done: set[FunctionInfo] = set()
        self._run_at_import: frozenset[FunctionInfo] = frozenset()
        self._machine = self._make_machine()
        self.exhausted: list[FunctionInfo] = []
        self._instances = Instances(self._machine, self.module, lambda: self._base, self.exhausted)
        self._memory = memory
        if memory is not None:
            memory.begin(self._machine)

    @property
    def events(self) -> list[Event]:
        """Everything noted so far that was seen to the end."""
        return [event for event in self._machine.recorder.events if not event.abandoned]

    @cached_property
    def _base(self) -> State:
        """The state that the top level of the file leaves."""
        base = self._run_top_level()
        if self._memory is not None:
            self._memory.start(self._machine, base)
        return base

    def run(self) -> None:
        """Analyse every function of the file that is judged in the file itself."""
        self._run(self._relevance, None)

    def owing_callees(self) -> set[FunctionInfo]:
        """Return the functions of other files that this file calls and that may run a forward for it."""
        path = self.module.path
        return {
            callee
            for function in (self.module.body, *self.module.functions)
            for callee in self._facts.callees(function)
            if callee.module.path != path and self._caller_relevance.owes(callee)
        }

    def run_callers(self, names: frozenset[str]) -> None:
        """Analyse the functions that call one of `names`, which other files define, as well.

        Also those that call them for that: `def evaluate(net): net.predict(x)` does not say what it is given.
        """
        asked = {f.name for f in self.module.functions if f.cls is None and _asks_an_argument(f, names)}
        self._run(self._caller_relevance, names | asked)

    def _run(self, relevance: Relevance, names: frozenset[str] | None) -> None:
        self._runs.append((relevance, names))
        if self._memory is None:
            self._run_roots(relevance, names)
            return
        from modellint.static.flow.watching import Tangled

        try:
            self._run_roots(relevance, names)
        except Tangled:
            self.__dict__.pop("_base", None)
            self._begin(None)
            for earlier in self._runs:
                self._run_roots(*earlier)

    def _run_roots(self, relevance: Relevance, names: frozenset[str] | None) -> None:
        body = self.module.body
        wants_body = relevance.owes(body) if names is None else not names.isdisjoint(body.callees)
        roots = [function for function in self.module.functions if self._is_root(function, relevance, names)]
        templates = {cls: list(self._templates(cls, relevance)) for cls in self.module.classes} if names is None else {}
        hollow = {method for cls, methods in templates.items() for method in methods if leaves_open(method.cls, cls)}
        if wants_body or roots or any(templates.values()):
            _ = self._base  # whatever is run first, the top level was before it
        called = {callee for function in roots for callee in self._facts.callees(function) if callee is not function}
        for function in sorted(roots, key=called.__contains__):  # callers first: a call may show all there is to see
            self._done.add(function)
            if names is not None and function in self._run_at_import:
                continue  # how a script runs its own function says more than a run with arguments unknown
            if not self._is_covered(function) and function not in hollow:
                self._run_or_recall(function, function.cls)
        for cls, methods in templates.items():
            for method in methods:
                self._run_or_recall(method, cls)
        self._machine.recorder.conclude()
        self._machine.forget()
        self._instances.clear()  # the largest part of an analysis, and callers that come later need few of them
        if self._memory is not None:
            self._memory.finish(self._machine)
        else:
            self._machine.forget_numbers()

    def _run_or_recall(self, function: FunctionInfo, cls: ClassInfo | None) -> None:
        """Run `function`, a method of `cls` if that is given, unless what it does is known from an earlier version."""
        if self._memory is None:
            self._run_root(function, None, self._start(function, cls), cls)
        elif not self._memory.recall(self._machine, (function, cls)):
            run = partial(self._run_root, function, None, cls=cls)
            self._memory.watched(self._machine, (function, cls), lambda: run(state=self._start(function, cls)))

    def _is_root(self, function: FunctionInfo, relevance: Relevance, names: frozenset[str] | None) -> bool:
        outer = function.parent
        if outer is not None and not outer.is_body and function.cls is None:
            return False  # nested functions are run with what is around them
        if function in self._done:
            return False
        if names is not None and names.isdisjoint(function.callees):
            hands_over = not names.isdisjoint(self._facts.handed(function))
            return hands_over and not hides_mode(self._machine, function)
        return relevance.is_root(function) and not hides_mode(self._machine, function)

    def _is_covered(self, function: FunctionInfo) -> bool:
        """Tell whether a call that was analysed showed everything that the function can do, whoever calls it."""
        called = self._machine.called
        return function in self._machine.covered and all(
            inner.cls is not None or inner in called or not self._relevance.is_root(inner) for inner in function.nested
        )

    def _templates(self, cls: ClassInfo, relevance: Relevance) -> Iterator[FunctionInfo]:
        """Yield inherited methods that call methods which `cls` overrides, or run what it fills: its way through."""
        if not cls.bases or self._machine.classes.is_module(cls) or relevance.is_foreign(cls):
            return
        family = self._machine.project.ancestry(cls)[0]
        nearer = {"__init__", *cls.methods}
        for base in family[1:]:
            for method in base.methods.values():
                if method.name in nearer:
                    continue
                overridden = [cls.methods[name] for name in _callees_of_all(method, family) & cls.methods.keys()]
                if all(map(relevance.is_inert, overridden)) and not runs_what_is_filled(cls, method, family):
                    continue
                if relevance.is_root(method) or any(relevance.is_root(m) for m in cls.methods.values()):
                    yield method
            nearer |= base.methods.keys()

    # -- starting points -----------------------------------------------------------------------------------

    def _run_top_level(self) -> State:
        machine = self._machine
        try:
            # twice the steps, so that the `main` of a script gets as much as if it were run alone
            base = self._persist(self.module.body, self._top_level, CALL_SHARE * MAX_STEPS)
            self._run_at_import = frozenset(machine.shown)
        except (Exhausted, RecursionError):
            self.exhausted.append(self.module.body)
            machine.recorder.abandon((), self.module.body)
            machine.uncover(0)
            base = State.empty(self._at_import)
        finally:
            machine.begin()
        base.path = {}
        start_up(machine, self.module, base, self._facts)
        return base

    @cached_property
    def _at_import(self) -> Grad:
        return grad_at_import(self._machine.project, self.module)

    def _top_level(self) -> State:
        machine = self._machine
        frame = Frame(machine.module_frame(self.module), self.module.body, None, ())
        machine.frames.append(frame)
        ends = machine.block(self.module.body.body, [State.empty(self._at_import)])
        ends += [left for _, left in frame.returns]
        return join_states(ends) if ends else State.empty(self._at_import)

    def _start(self, function: FunctionInfo, cls: ClassInfo | None) -> State:
        """Return the state in which a function, or a method of an instance of `cls`, begins without a known caller."""
        state = self._base.over() if cls is None else self._instances.state_of(cls).over()
        if state.grad.state == ON:
            # a switch thrown at the top level holds inside functions too; otherwise the callers decide
            state.grad = Grad(ENTRY, None)
        return state

    def _run_root(self, function: FunctionInfo, parent: int | None, state: State, cls: ClassInfo | None = None) -> None:
        machine = self._machine
        machine.begin()
        machine.running_root = True
        receiver: Value | None = None
        if cls is not None and function.is_classmethod:
            receiver = Value(symbols=(ClassValue(cls, cls.name),))
        elif cls is not None and not function.is_static:
            self._instances.weaken(function, cls, state)
            receiver = Value(refs=frozenset({self._instances.number(cls)}))
        callee = FunctionValue(function, parent, function.name, True)
        covered = len(machine.covered)
        try:
            callee = begun_with(machine, callee, state)
            args = unknown_arguments(machine, function, state, receiver)
            self._as_hook(function, args, receiver, state)
            self._persist(function, lambda: machine.activate(callee, receiver, args, (), state))
            number = machine.number((function, ()))
        except (Exhausted, RecursionError):
            self.exhausted.append(function)
            machine.recorder.abandon((), function)
            machine.uncover(covered)
            return
        finally:
            machine.begin()
            machine.running_root = False
        for inner in function.nested:
            if inner.cls is None and inner not in machine.called and self._relevance.is_root(inner):
                after = state.over()
                after.grad = Grad(ENTRY, None)
                self._run_root(inner, number, after)

    def _persist(self, function: FunctionInfo, run: Callable[[], T], steps: int = MAX_STEPS) -> T:
        """Run a starting point; once more in haste where it takes too long to keep its branches apart.

        Raises:
            Exhausted: It takes too long in haste, too.
        """
        machine = self._machine
        covered = len(machine.covered)
        machine.begin(steps)
        if function not in machine.needs_haste:
            try:
                return run()
            except Exhausted:
                machine.recorder.abandon((), function)
                machine.uncover(covered)
                machine.begin(steps)
        with machine.hurrying():
            return run()

    def _as_hook(self, function: FunctionInfo, args: Args, receiver: Value | None, state: State) -> None:
        """Begin a method that a library calls by itself in the state in which the library calls it."""
        hook = self._relevance.hook_of(function)
        if hook is None or function.node is None:
            return
        state.grad = Grad(hook.grad if hook.grad != "same" else ON, None)
        if hook.mode == "same":
            return
        held = [v for oid in (receiver.refs if receiver else ()) for v in state.heap[oid].attrs.values()]
        fact = ModeFact(hook.mode, site_of(function.module, function.node), function.name)
        for oid in {oid for value in (*args.every(), *held) for oid in value.refs}:
            if state.heap[oid].modes >= ENTRY_MODES:
                state.heap[oid] = state.heap[oid]._replace(modes=frozenset({fact}))


def _asks_an_argument(function: FunctionInfo, names: frozenset[str]) -> bool:
    """Tell whether a function calls a method by one of `names` of something that it is given."""
    given = {argument.arg for argument, _ in parameters(function)}
    called = (call.func for name in names & function.callees for call in function.calls_of(name))
    return any(
        isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in given
        for func in called
    )


def _callees_of_all(method: FunctionInfo, family: Iterable[ClassInfo]) -> frozenset[str]:
    """Return the names of what a method calls, and those of the methods that it adds to by `super()`."""
    if "super" not in method.callees:
        return method.callees
    beside = (owner.methods[method.name].callees for owner in family if method.name in owner.methods)
    return method.callees.union(*beside)
