"""The machine that interprets code: frames, calls of the project's own functions, and a budget that ends it."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from modellint.static.classes import Classes
from modellint.static.flow.events import CallSite, EventKey, Loop, Recorder, Snapshot
from modellint.static.flow.state import State, join_states, settle
from modellint.static.flow.values import (
    CONTAINER,
    ELEMENT,
    ENTRY_MODES,
    FIRST_LEAF,
    NONE,
    NOTHING,
    OPAQUE,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    Args,
    FunctionValue,
    Grad,
    GradContext,
    Manager,
    Modes,
    Obj,
    Site,
    Value,
    join_all,
)
from modellint.static.knowledge import Knowledge
from modellint.static.project import FunctionInfo, ModuleInfo, Project
from modellint.static.project.facts import last_name, parameters

MAX_DEPTH = 12
MAX_STEPS = 25_000
"""Statements that the analysis of one starting point may run."""

CALL_SHARE = 2
"""A call gets this part of what its caller has left; what it cannot finish counts as out of sight."""

MIN_CALL_STEPS = 150

Expressions: TypeAlias = "Mapping[type, Callable[[Machine, Any, State], Value]]"
Statements: TypeAlias = "Mapping[type, Callable[[Machine, Any, State], list[State]]]"


_NUMBERS = itertools.count()  # shared, so that the objects of two analyses are never taken for each other


LAMBDA = "<lambda>"


class Exhausted(Exception):
    """The budget of an analysis is spent; what was seen so far is not the whole truth."""


class Frame:
    """One activation of a function. `unrolled` holds the constants of the loops being unrolled around the code."""

    __slots__ = (
        "breaks",
        "chain",
        "continues",
        "declared",
        "function",
        "id",
        "lap",
        "loops",
        "module",
        "on_yield",
        "parent",
        "receiver",
        "returns",
        "unrolled",
        "yielded",
    )

    def __init__(self, number: int, function: FunctionInfo, parent: int | None, chain: tuple[CallSite, ...]) -> None:
        self.id = number
        self.function = function
        self.module: ModuleInfo = function.module
        self.parent = parent
        self.chain = chain
        self.receiver: Value | None = None
        self.returns: list[tuple[Value, State]] = []
        self.breaks: list[State] = []
        self.continues: list[State] = []
        self.declared: dict[str, str] = {}
        self.unrolled: tuple[tuple[str, object], ...] = ()
        self.lap = 0
        self.loops: tuple[Loop, ...] = ()
        self.on_yield: Callable[[Value, State], None] | None = None
        self.yielded: list[Value] = []


class Machine:
    """Interprets code over `State`. One machine serves one analysis; the tables say how each node is handled."""

    def __init__(
        self,
        project: Project,
        classes: Classes,
        knowledge: Knowledge,
        expressions: Expressions,
        statements: Statements,
        caller: Callable[[Machine, Value, Args, ast.Call, State], Value],
        is_inert: Callable[[FunctionInfo], bool],
        main: ModuleInfo,
    ) -> None:
        self.project = project
        self.classes = classes
        self.knowledge = knowledge
        self.recorder = Recorder()
        self.main = main
        self.frames: list[Frame] = []
        self.parents: dict[int, int | None] = {}
        self.owners: dict[int, tuple[int, str]] = {}
        self.called: set[FunctionInfo] = set()
        self.leaves: list[Site] = []
        self.escaped: set[object] = set()
        self.steps = 0
        self.limit = MAX_STEPS
        self._too_long: set[FunctionInfo] = set()
        self._expressions = expressions
        self._statements = statements
        self._caller = caller
        self._is_inert = is_inert
        self._numbers: dict[object, int] = {}
        self._decorators: dict[FunctionInfo, tuple[ast.expr, ...]] = {}
        self._lambdas: dict[object, FunctionInfo] = {}

    # -- identity ------------------------------------------------------------------------------------------

    def number(self, key: object) -> int:
        """Return the number of `key`: the same each time a loop comes back to it."""
        if key not in self._numbers:
            self._numbers[key] = next(_NUMBERS)
        return self._numbers[key]

    @property
    def frame(self) -> Frame:
        """The running activation."""
        return self.frames[-1]

    def site(self, node: ast.AST) -> Site:
        """Return where `node` stands in the running function's file."""
        return site_of(self.frame.module, node)

    def allocate(self, node: ast.AST, state: State, obj: Obj, tag: str = "") -> Value:
        """Put a new object into the heap, one for each place and call chain, and return a reference to it."""
        frame = self.frame
        oid = self.number((frame.module.path, node.lineno, node.col_offset, tag, frame.chain, frame.unrolled))  # type: ignore[attr-defined]
        state.heap[oid] = obj
        return Value(refs=frozenset({oid}))

    def leaf(self, node: ast.AST) -> int:
        """Return the taint of a tensor that `node` makes require a gradient."""
        site = self.site(node)
        if site not in self.leaves:
            self.leaves.append(site)
        return FIRST_LEAF - self.leaves.index(site)

    def container(self, node: ast.AST | None, state: State, attrs: dict[str, Value], how: str) -> Value:
        """Put a new container of the elements `attrs` into the heap; it is tainted by what it holds."""
        assert node is not None
        obj = Obj(CONTAINER, None, "", None, how, UNKNOWN_MODES, UNKNOWN_WEIGHTS, attrs)
        taint: frozenset[int] = frozenset()
        for value in attrs.values():
            taint |= value.taint
        return self.allocate(node, state, obj, "container").with_taint(taint)

    def opaque(self, state: State, key: object, name: str, modes: Modes) -> Value:
        """Return a reference to an object of which nothing is known, the same for the same `key`."""
        oid = self.number(key)
        if state.heap.find(oid) is None:
            state.heap[oid] = Obj(OPAQUE, None, name, None, "", modes, UNKNOWN_WEIGHTS, {})
        return Value(refs=frozenset({oid}))

    # -- running -------------------------------------------------------------------------------------------

    def eval(self, node: ast.expr, state: State) -> Value:
        """Return what `node` may evaluate to; its effects happen in `state`."""
        handler = self._expressions.get(type(node))
        return NOTHING if handler is None else handler(self, node, state)

    def call_value(self, callee: Value, args: Args, node: ast.Call, state: State) -> Value:
        """Call everything that `callee` may be."""
        return self._caller(self, callee, args, node, state)

    def block(self, statements: Iterable[ast.stmt], states: list[State]) -> list[State]:
        """Run `statements` from each of `states`; return the states that fall out at the end."""
        for statement in statements:
            if not states:
                break
            handler = self._statements.get(type(statement))
            if handler is None:
                continue
            self.steps += len(states)
            if self.steps > self.limit:
                raise Exhausted
            if len(states) == 1:
                states = handler(self, statement, states[0])
            else:
                after: list[State] = []
                for state in states:
                    after += handler(self, statement, state)
                states = settle(after)
        return states

    def note(self, kind: str, node: ast.AST, oid: int, state: State, text: str, detail: str = "") -> int | None:
        """Record an event about the object `oid`; return its number, None where nothing is recorded."""
        frame = self.frame
        place, function, chain = self.site(node), frame.function, frame.chain
        unrolled = tuple(item for f in self.frames for item in f.unrolled)
        key = EventKey(kind, place, chain, unrolled, frozenset(state.path.items()), oid, detail)
        obj = state.heap[oid]
        lap = sum(f.lap for f in self.frames)
        number = self.recorder.note(key, function, text, Snapshot(obj.modes, state.grad, obj, lap))
        if number is not None:
            self.recorder.events[number].loops = tuple(loop for f in self.frames for loop in f.loops)
        return number

    # -- functions -----------------------------------------------------------------------------------------

    def call(self, callee: FunctionValue, receiver: Value | None, args: Args, node: ast.AST, state: State) -> Value:
        """Interpret a call of one of the project's functions; its effects happen in `state`."""
        function = callee.function
        self.called.add(function)
        if function.name != LAMBDA and self._is_inert(function):
            return self.out_of_sight(node, args, state)
        if len(self.frames) >= MAX_DEPTH or sum(f.function is function for f in self.frames) > 1:
            return self.out_of_sight(node, args, state)
        decorators = self.wrapping_decorators(function) if not callee.raw else ()
        if any(_is_context_manager(self, function, d) for d in decorators):
            return Value(symbols=(Manager(callee._replace(raw=True), receiver, args),))
        if decorators and (wrapped := self.decorate(callee, state)) is not None:
            positional = args.positional if receiver is None else (receiver, *args.positional)
            return self.call(wrapped, None, args._replace(positional=positional), node, state)
        if function in self._too_long or self.hides_mode(function):
            return self.out_of_sight(node, args, state)
        caller = self.frame
        chain = (*caller.chain, CallSite(self.site(node), caller.function, function))
        depth, limit, muted = len(self.frames), self.limit, self.recorder.muted
        self.limit = min(limit, self.steps + max(MIN_CALL_STEPS, (limit - self.steps) // CALL_SHARE))
        try:
            return self.activate(callee, receiver, args, chain, state)
        except Exhausted:
            if self.steps > limit:
                raise
            del self.frames[depth:]
            self.recorder.muted = muted
            self.recorder.abandon(chain)
            self._too_long.add(function)
            return self.out_of_sight(node, args, state)
        finally:
            self.limit = limit

    def out_of_sight(self, node: ast.AST, args: Args, state: State) -> Value:
        """Return what a call gives of which nothing is known: a computed value, or an object."""
        if args.taint:
            return Value(taint=args.taint)
        obj = Obj(OPAQUE, None, "", self.site(node), "call", UNKNOWN_MODES, UNKNOWN_WEIGHTS, {})
        return self.allocate(node, state, obj, "result")

    def begin(self) -> None:
        """Start with a fresh budget and no frames."""
        self.frames.clear()
        self.steps, self.limit = 0, MAX_STEPS
        self.recorder.muted = 0
        self._too_long.clear()

    def activate(
        self, callee: FunctionValue, receiver: Value | None, args: Args, chain: tuple[CallSite, ...], state: State
    ) -> Value:
        """Run the body of a function in a frame of its own and return what it returns."""
        frame, work = self.enter(callee, receiver, args, chain, state)
        try:
            switch = callee.grad and Grad(callee.grad.grad, callee.grad.site)
            return self.run_body(frame, work, state, switch)
        finally:
            self.frames.pop()

    def enter(
        self, callee: FunctionValue, receiver: Value | None, args: Args, chain: tuple[CallSite, ...], state: State
    ) -> tuple[Frame, State]:
        """Push a frame for `callee`; return it with a state above `state` in which its parameters are bound."""
        function = callee.function
        number = self.number((function, chain))
        parent = callee.frame if callee.frame is not None else self.module_frame(function.module)
        frame = Frame(number, function, parent, chain)
        self.parents[number] = parent
        frame.receiver = receiver
        work = state.over()
        bind(self, frame, args, work)
        self.frames.append(frame)
        return frame, work

    def run_body(self, frame: Frame, work: State, state: State, switch: Grad | None = None) -> Value:
        """Run the body of the frame just entered in `work`; `state`, below it, becomes the state after the call."""
        function = frame.function
        saved, switched = state.grad, switch or self.decorated_grad(function)
        if switched is not None:
            work.grad = switched
        fell = self.block(function.body, [work])
        ends = frame.returns + [(NONE, end) for end in fell]
        if not ends:  # every path raises
            return NOTHING
        after = join_states([end for _, end in ends])
        keep_locals = bool(function.nested)  # they may be closed over
        for key, value in after.variables.items():
            if keep_locals or key[0] != frame.id:
                state.variables[key] = value
        state.heap.update(after.heap)
        state.path = {key: known for key, known in after.path.items() if key[0] != frame.id}
        state.grad = saved if switched is not None else after.grad
        if frame.yielded:
            return self.container(function.node, state, {ELEMENT: join_all(frame.yielded)}, "generator")
        return join_all(value for value, _ in ends)

    def module_frame(self, module: ModuleInfo) -> int:
        """Return the number of the frame that holds the globals of `module`."""
        number = self.number(("module", module.path))
        self.parents.setdefault(number, None)
        return number

    def ensure_module(self, module: ModuleInfo, state: State) -> int:
        """Run the top level of another module once, for its globals; return the number of its frame."""
        number = self.module_frame(module)
        marker = (number, "<executed>")
        if module is not self.main and state.variables.find(marker) is None:
            state.variables[marker] = NONE
            frame = Frame(number, module.body, None, ())
            self.frames.append(frame)
            self.recorder.muted += 1
            try:
                ends = self.block(module.body.body, [state.over()])
                if ends:
                    after = join_states(ends)
                    state.variables.update(after.variables)
                    state.heap.update(after.heap)
            finally:
                self.recorder.muted -= 1
                self.frames.pop()
        return number

    def lambda_value(self, node: ast.Lambda) -> FunctionValue:
        """Return the function that a lambda is, closing over the running frame."""
        key = (self.frame.module.path, node.lineno, node.col_offset)
        if key not in self._lambdas:
            body = ast.copy_location(ast.Return(node.body), node.body)
            made = ast.copy_location(ast.FunctionDef(LAMBDA, node.args, [body], [], None), node)
            self._lambdas[key] = FunctionInfo(self.frame.module, LAMBDA, made, None, self.frame.function)
        return FunctionValue(self._lambdas[key], self.frame.id, LAMBDA, True)

    # -- decorators ----------------------------------------------------------------------------------------

    def grad_switch(self, function: FunctionInfo, node: ast.expr) -> GradContext | None:
        """Return the autograd switch that the decorator `node` of `function` is, called or bare."""
        symbol = self.project.resolve_in(function.parent or function.module.body, bare_decorator(node))
        entry = self.knowledge.grad_switches.get(symbol.dotted) if symbol is not None else None
        if entry is None:
            return None
        given: ast.expr | None = None
        if isinstance(node, ast.Call):
            given = node.args[0] if node.args else node.keywords[0].value if node.keywords else None
        known = given.value if isinstance(given, ast.Constant) else None
        if given is None and entry.argument is not None:
            known = entry.argument.default
        return GradContext(switched_to(entry.grad, known), site_of(function.module, node))

    def decorated_grad(self, function: FunctionInfo) -> Grad | None:
        """Return the state of autograd that the decorators of `function` set, None if they leave it alone."""
        if not function.is_decorated or function.node is None:
            return None
        for decorator in function.node.decorator_list:
            switch = self.grad_switch(function, decorator)
            if switch is not None:
                return Grad(switch.grad, switch.site)
        return None

    def hides_mode(self, function: FunctionInfo) -> bool:
        """Tell whether a decorator out of sight, by its name, sets the mode or switches autograd."""
        if not function.is_decorated or function.node is None:
            return False
        for node in function.node.decorator_list:
            name = last_name(node)
            if name is None or not _SETS_UP.search(name) or self.grad_switch(function, node) is not None:
                continue
            symbol = self.project.resolve_in(function.parent or function.module.body, bare_decorator(node))
            if symbol is None or not isinstance(symbol.target, FunctionInfo):
                return True
        return False

    def wrapping_decorators(self, function: FunctionInfo) -> tuple[ast.expr, ...]:
        """Return the decorators of `function` that are functions of the project or make a context manager."""
        if function not in self._decorators:
            found = []
            for node in function.node.decorator_list if function.is_decorated and function.node else ():
                symbol = self.project.resolve_in(function.parent or function.module.body, bare_decorator(node))
                if symbol is None:
                    continue
                if isinstance(symbol.target, FunctionInfo) or symbol.dotted.endswith("contextmanager"):
                    found.append(node)
            self._decorators[function] = tuple(found)
        return self._decorators[function]

    def decorate(self, callee: FunctionValue, state: State) -> FunctionValue | None:
        """Apply the project's own decorators; None where there are none, or where what comes out is not in sight."""
        decorators = self.wrapping_decorators(callee.function)
        if not decorators:
            return None
        chain = self.frame.chain if self.frames else ()
        home = Frame(self.module_frame(callee.function.module), callee.function.module.body, None, chain)
        value = Value(symbols=(callee._replace(raw=True),))
        self.frames.append(home)
        try:
            for node in reversed(decorators):
                decorator = self.eval(node, state)
                functions = [s for s in decorator.symbols if isinstance(s, FunctionValue)]
                if len(functions) != 1:
                    return None
                value = self.call(functions[0]._replace(raw=True), None, Args((value,)), node, state)
        finally:
            self.frames.pop()
        functions = [s for s in value.symbols if isinstance(s, FunctionValue)]
        return functions[0]._replace(raw=True) if len(functions) == 1 else None


_SETS_UP = re.compile(r"eval|infer|no_?grad|grad_|frozen|test_mode", re.I)


def bare_decorator(node: ast.expr) -> ast.expr:
    """Return a decorator without its call."""
    return node.func if isinstance(node, ast.Call) else node


def switched_to(rule: str, argument: object) -> str:
    """Return the state that a switch sets whose argument is the constant `argument` (None: not known)."""
    if rule in ("on", "off"):
        return rule
    if not isinstance(argument, bool):
        return "unknown"
    return "on" if argument is (rule == "argument") else "off"


def site_of(module: ModuleInfo, node: ast.AST) -> Site:
    """Return where `node` stands in `module`."""
    return Site(str(module.path), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def _is_context_manager(machine: Machine, function: FunctionInfo, node: ast.expr) -> bool:
    symbol = machine.project.resolve_in(function.parent or function.module.body, node)
    return symbol is not None and symbol.dotted.endswith("contextmanager")


def bind(machine: Machine, frame: Frame, args: Args, state: State) -> None:
    """Give the parameters of the function of `frame` their values."""
    function = frame.function
    if function.node is None:
        return
    node = function.node.args
    names = [argument.arg for argument in node.posonlyargs + node.args]
    given = list(args.positional)
    if frame.receiver is not None:
        given.insert(0, frame.receiver)
    variables = state.variables
    for name, value in zip(names, given, strict=False):
        variables[frame.id, name] = value
    keywords = dict(args.keywords)
    spread = args.starred
    for argument, default in parameters(function):
        name = argument.arg
        if argument is node.vararg:
            rest = join_all(given[len(names) :]) if len(given) > len(names) else spread or NOTHING
            variables[frame.id, name] = rest
        elif argument is node.kwarg:
            variables[frame.id, name] = join_all(keywords.values()) if keywords else spread or NOTHING
        elif name in keywords:
            variables[frame.id, name] = keywords.pop(name)
        elif name in names[: len(given)]:
            continue
        elif spread is not None:
            variables[frame.id, name] = Value(taint=spread.taint)
        elif default is not None:
            variables[frame.id, name] = _default(machine, frame, default, state)
        else:
            variables[frame.id, name] = machine.opaque(
                state, ("parameter", function, frame.chain, name), name, UNKNOWN_MODES
            )


def _default(machine: Machine, frame: Frame, default: ast.expr, state: State) -> Value:
    if isinstance(default, ast.Constant):
        return Value(consts=frozenset({default.value}))
    home = Frame(machine.module_frame(frame.module), frame.module.body, None, frame.chain)
    machine.frames.append(home)
    try:
        return machine.eval(default, state)
    finally:
        machine.frames.pop()


def unknown_arguments(machine: Machine, function: FunctionInfo, state: State, receiver: Value | None) -> Args:
    """Return arguments of which only the callers, out of sight, know anything."""
    positional = []
    keywords: dict[str, Value] = {}
    node = function.node
    assert node is not None
    names = [argument.arg for argument in node.args.posonlyargs + node.args.args]
    for name in names[1:] if receiver is not None else names:
        positional.append(machine.opaque(state, ("argument", function, name), name, ENTRY_MODES))
    for argument in node.args.kwonlyargs:
        keywords[argument.arg] = machine.opaque(state, ("argument", function, argument.arg), argument.arg, ENTRY_MODES)
    return Args(tuple(positional), keywords)
