"""The machine that interprets code: frames, calls of the project's own functions, and a budget that ends it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from modellint.static.classes import Classes
from modellint.static.flow.binding import bind, carried_conditions
from modellint.static.flow.decorators import (
    decorate,
    decorated_grad,
    hides_mode,
    makes_context_manager,
    managed_body,
    wrapping_decorators,
)
from modellint.static.flow.events import (
    CallSite,
    EventKey,
    Loop,
    Recorder,
    Snapshot,
    asks_for_evaluation,
    input_names,
    loop_facts,
)
from modellint.static.flow.frames import Frame, site_of
from modellint.static.flow.quiet import Quiet
from modellint.static.flow.repeating import Repeated
from modellint.static.flow.returned_parts import in_parts
from modellint.static.flow.skipping import (
    after_inert,
    decides_nothing,
    gives_numbers,
    handed_back,
    only_computes,
    runs_what_it_is_given,
    tells_nothing,
    without_running,
)
from modellint.static.flow.state import MAX_SPLIT, State, join_states, settle, with_elements
from modellint.static.flow.toplevels import Globals, fill_in, run_module
from modellint.static.flow.touching import may_write, touch_given
from modellint.static.flow.values import (
    CALLED,
    CONTAINER,
    ELEMENT,
    ENTRY,
    FIRST_LEAF,
    MODEL,
    NONE,
    NOTHING,
    OFF,
    OPAQUE,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    Args,
    BoundMethod,
    FunctionValue,
    Grad,
    Manager,
    Modes,
    Obj,
    Partial,
    Site,
    Value,
    join_all,
    kinds,
)
from modellint.static.flow.vocabulary import METRIC
from modellint.static.knowledge import Knowledge
from modellint.static.project import FunctionInfo, ModuleInfo, Project, function_of
from modellint.static.project.facts import is_left_to_heirs
from modellint.static.project.names import last_name

MAX_DEPTH = 12
MAX_STEPS = 12_000
"""Statements that the analysis of one starting point may run."""

CALL_SHARE = 2
"""A call gets this part of what its caller has left; what it cannot finish counts as out of sight."""

SPLIT_IN_HASTE = 1
"""How many states are kept apart where there would be too many to keep all that usually are."""

MIN_CALL_STEPS = 150

Expressions: TypeAlias = "Mapping[type, Callable[[Machine, Any, State], Value]]"
Statements: TypeAlias = "Mapping[type, Callable[[Machine, Any, State], list[State]]]"


# Where the numbers of each machine start: the objects of two analyses are never taken for each other. The starts have
# the same low bits, and with them sets of numbers have the same order: what is seen first does not hang on chance.
_STARTS = itertools.count(0, 1 << 40)


LAMBDA = "<lambda>"

_HANDS_OUT = frozenset({"getattr", "get", "get_submodule", "next", "pop", "popitem"})
"""What gives something that was there before, and builds nothing."""


class Exhausted(Exception):
    """The budget of an analysis is spent; what was seen so far is not the whole truth."""


def _hands_over_code(args: Args) -> bool:
    """Tell whether a call is given something to call: what a helper cannot do by itself, that can."""
    return any(
        isinstance(symbol, (FunctionValue, Partial))
        or (isinstance(symbol, BoundMethod) and (symbol.receiver.refs or symbol.name == "backward"))
        for value in args.every()
        for symbol in value.symbols
    )


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
        quiet: Quiet,
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
        self.covered: dict[FunctionInfo, None] = {}
        self.leaves: list[Site] = []
        self.escaped: set[object] = set()
        self._loop_facts: dict[ast.AST, Loop] = {}
        self.steps = 0
        self.limit = MAX_STEPS
        self.in_haste = False
        self._too_long: set[FunctionInfo] = set()
        self.needs_haste = set[FunctionInfo]()
        self._finished: set[tuple[CallSite, ...]] = set()
        self.shown: set[FunctionInfo] = set()
        self._repeated = Repeated()
        self._expressions = expressions
        self._statements = statements
        self._caller = caller
        self.is_inert = is_inert
        self.quiet = quiet
        self._numbers: dict[object, int] = {}
        self._unused = itertools.count(next(_STARTS))
        self._passing: list[object] = []
        self.running_root = False
        self.conditions: dict[ast.expr, tuple[str | None, bool]] = {}
        self._globals: dict[ModuleInfo, Globals] = {}
        self.wrappers: dict[FunctionInfo, tuple[ast.expr, ...]] = {}
        self.managed: dict[FunctionInfo, list[ast.stmt]] = {}
        self.yields_under: dict[int, Grad] = {}
        self._lambdas: dict[object, FunctionInfo] = {}

    # -- identity ------------------------------------------------------------------------------------------

    def number(self, key: object) -> int:
        """Return the number of `key`: the same each time a loop comes back to it."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = next(self._unused)
            if self.running_root:
                self._passing.append(key)
        return number

    def known_number(self, key: object) -> int | None:
        """Return the number of `key` if it has one: what was never written to need not be given any."""
        return self._numbers.get(key)

    def seed(self, numbers: Mapping[Any, int]) -> None:
        """Let these keys have these numbers."""
        self._numbers.update(numbers)

    def keys(self) -> dict[int, Any]:
        """Return the key of every number."""
        return {number: key for key, number in self._numbers.items()}

    @property
    def loaded(self) -> frozenset[ModuleInfo]:
        """The other modules whose top level was run."""
        return frozenset(self._globals)

    @property
    def frame(self) -> Frame:
        """The running activation."""
        return self.frames[-1]

    def site(self, node: ast.AST) -> Site:
        """Return where `node` stands in the running function's file."""
        return site_of(self.frame.module, node)

    def allocate(self, node: ast.AST, state: State, obj: Obj, tag: object = "") -> Value:
        """Put a new object into the heap, one for each place, call chain and `tag`, and return a reference to it.

        The tag parts what one call may make: instances of several classes.
        """
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

    def enter_loop(self, loop: ast.For | ast.AsyncFor | ast.While | ast.comprehension) -> tuple[Loop, ...]:
        """Note that the running function is inside `loop`; return what it was inside of before."""
        if loop not in self._loop_facts:
            self._loop_facts[loop] = loop_facts(loop)
        outer = self.frame.loops
        self.frame.loops = (*outer, self._loop_facts[loop])
        return outer

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
                states = self.settle(after)
        return states

    def settle(self, states: list[State]) -> list[State]:
        """Join states that say the same about modes, and all of them where there are too many."""
        return settle(states, SPLIT_IN_HASTE if self.in_haste else MAX_SPLIT)

    @contextmanager
    def hurrying(self) -> Iterator[None]:
        """Join branches early, and run loops less often, inside the block."""
        self.in_haste = self.recorder.in_haste = True
        try:
            yield
        finally:
            self.in_haste = self.recorder.in_haste = False

    @property
    def laps(self) -> int:
        """Passes over a loop at most; the effect of a mode change is stable after the second."""
        return 2 if self.in_haste else 3

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
            event = self.recorder.events[number]
            event.in_haste |= oid in state.blurred and ENTRY in kinds(obj.modes)
            event.loops = tuple(loop for f in self.frames for loop in f.loops)
            if len(event.snapshots) == 1 and isinstance(node, ast.Call):
                event.inputs, event.asks_evaluation = input_names(node), asks_for_evaluation(node)
        return number

    # -- functions -----------------------------------------------------------------------------------------

    def call(self, callee: FunctionValue, receiver: Value | None, args: Args, node: ast.AST, state: State) -> Value:
        """Interpret a call of one of the project's functions; its effects happen in `state`."""
        function = callee.function
        self.called.add(function)
        is_wrapper = callee.raw and callee.frame is not None  # what a decorator returned runs what it holds
        idle = function.name != LAMBDA and not is_wrapper and self.is_inert(function)
        if idle and not _hands_over_code(args) and not runs_what_it_is_given(self, function, receiver, args, state):
            taint = with_elements(args, state)
            if gives_numbers(function):
                self.recorder.use(taint, "number")
                if "detach" in function.callees:
                    self.recorder.use(taint, "detached")
            elif only_computes(self, function):
                self.recorder.use(taint, "passed")
            else:
                self.recorder.pass_on(args, state)
            if METRIC.search(function.name):
                self.recorder.use(taint, "reported")
            if (given := handed_back(function, receiver, args, state)) is not None:
                return given
            whole = after_inert(self.out_of_sight(node, args, state, may_write(function)), function)
            return in_parts(self, function, whole, state)
        if len(self.frames) >= MAX_DEPTH or sum(f.function is function for f in self.frames) > 1:
            return self.out_of_sight(node, args, state)
        decorators = wrapping_decorators(self, function) if not callee.raw else ()
        if any(makes_context_manager(self, function, d) for d in decorators):
            return Value(symbols=(Manager(callee._replace(raw=True), receiver, args),))
        if decorators and (wrapped := decorate(self, callee, state)) is not None:
            positional = args.positional if receiver is None else (receiver, *args.positional)
            return self.call(wrapped, None, args._replace(positional=positional), node, state)
        if function in self._too_long or hides_mode(self, function) or is_left_to_heirs(function):
            return self.out_of_sight(node, args, state)
        if callee.frame is None and callee.grad is None:
            result = without_running(self, function, receiver, args, node, state)
            if result is not None:
                return result
        caller = self.frame
        chain = (*caller.chain, CallSite(self.site(node), caller.function, function))
        again = self._repeated.recall(chain, receiver, args, state)
        if again is not None:
            return again
        depth, limit, muted, covered = len(self.frames), self.limit, self.recorder.muted, len(self.covered)
        effects = self.recorder.effects
        carried = carried_conditions(caller, function, receiver, node, state.path)
        covers = not carried and receiver is None and callee.frame is None and not muted
        covers = covers and function not in self.covered and tells_nothing(self, function, args, state)
        self.limit = min(limit, self.steps + max(MIN_CALL_STEPS, (limit - self.steps) // CALL_SHARE))
        generous = self.limit - self.steps >= MAX_STEPS * 3 // 4
        since = self.recorder.mark() if chain in self._finished else None
        try:
            value = self.activate(callee, receiver, args, chain, state, carried)
            if covers:
                self.covered[function] = None
            if receiver is None and not carried and not muted and decides_nothing(function, args):
                self.shown.add(function)
            self._repeated.learn(chain, self.recorder.effects > effects, value, state)
            self._finished.add(chain)
            return value
        except Exhausted:
            if self.steps > limit:
                raise
            self.uncover(covered)
            if covers and generous and self.in_haste:
                self.covered[function] = None
            elif covers and generous:
                self.needs_haste.add(function)  # the `main` of a script: begun on its own, it may come to its end
            del self.frames[depth:]
            self.recorder.muted = muted
            self.recorder.abandon(chain, since=since)
            self._too_long.add(function)
            return self.out_of_sight(node, args, state)
        finally:
            self.limit = limit

    def forget(self) -> None:
        """Drop what is quickly worked out again, and large: an analysis is kept for the files that ask for it later."""
        self._globals.clear()
        self._loop_facts.clear()
        self.conditions.clear()

    def forget_numbers(self) -> None:
        """Drop the numbers that were first asked for by starting points: those after this one have nothing of them."""
        for key in self._passing:
            del self._numbers[key]
        self._passing.clear()

    def uncover(self, count: int) -> None:
        """Keep only the first `count` functions that calls covered: what was seen of the others is forgotten."""
        while len(self.covered) > count:
            self.covered.popitem()

    def out_of_sight(self, node: ast.AST, args: Args, state: State, writes: bool = True) -> Value:
        """Return what a call gives of which nothing is known: a computed value, or an object.

        `writes`: it may write to the weights of a model that it is given. Numbers that no forward gave say nothing.
        """
        if writes:
            touch_given(self, node, args, state)
        if taint := with_elements(args, state):
            return Value(taint=taint)
        func = node.func if isinstance(node, ast.Call) and not isinstance(node.func, ast.Call) else None
        how = "" if func is not None and last_name(func) in _HANDS_OUT else CALLED
        obj = Obj(OPAQUE, None, "", self.site(node), how, UNKNOWN_MODES, UNKNOWN_WEIGHTS, {})
        return self.allocate(node, state, obj, "result")

    def begin(self, budget: int = MAX_STEPS) -> None:
        """Start with a fresh budget and no frames."""
        self.frames.clear()
        self.steps, self.limit = 0, budget
        self.recorder.muted = 0
        self._too_long.clear()
        self._finished.clear()
        self.shown.clear()
        self._repeated = Repeated()

    def activate(
        self,
        callee: FunctionValue,
        receiver: Value | None,
        args: Args,
        chain: tuple[CallSite, ...],
        state: State,
        carried: Mapping[str, bool] = {},
    ) -> Value:
        """Run the body of a function in a frame of its own and return what it returns.

        `carried` are conditions that its caller found to hold or not, in the words of the function.
        """
        frame, work = self.enter(callee, receiver, args, chain, state)
        for text, holds in carried.items():
            work.path[frame.id, text] = holds
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
        saved, switched = state.grad, switch or decorated_grad(self, function)
        if switched is not None:
            work.grad = switched
        fell = self.block(managed_body(self, function), [work])
        ends = frame.returns + [(NONE, end) for end in fell]
        # where every path seems to raise, not everything is known: what was done before it stays done
        ends = ends or [(NOTHING, left) for left in frame.raises]
        if not ends:
            return NOTHING
        after = join_states([end for _, end in ends])
        keep_locals = bool(function.nested)  # they may be closed over
        for key, value in after.variables.items():
            if keep_locals or key[0] != frame.id:
                state.variables[key] = value
        if any(obj.kind == MODEL for obj in after.heap.values()):
            self.recorder.effects += 1
        state.heap.update(after.heap)
        state.path = {key: known for key, known in after.path.items() if key[0] != frame.id}
        state.grad = saved if switched is not None else after.grad
        if frame.yielded:
            for value, then, _ in frame.yielded:
                state.keep(value.refs, then)  # `while True: yield ...` may be left before what it yields was made
            items = join_all(value for value, _, _ in frame.yielded)
            made = self.container(function.node, state, {ELEMENT: items}, "generator")
            if all(grad.state == OFF for _, _, grad in frame.yielded):
                self.yields_under.update(dict.fromkeys(made.refs, frame.yielded[0][2]))
            return made
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
            if module not in self._globals:
                self._globals[module] = {}, {}  # a cycle of imports ends here
                try:
                    self._globals[module] = run_module(self, number, module, state)
                except (Exhausted, RecursionError):
                    del self._globals[module]  # another starting point may have the budget for it
                    raise
            fill_in(self._globals[module], state)
        return number

    def lambda_value(self, node: ast.Lambda) -> FunctionValue:
        """Return the function that a lambda is, closing over the running frame."""
        key = (self.frame.module.path, node.lineno, node.col_offset)
        if key not in self._lambdas:
            body = ast.copy_location(ast.Return(node.body), node.body)
            made = ast.copy_location(ast.FunctionDef(LAMBDA, node.args, [body], [], None), node)
            self._lambdas[key] = function_of(self.frame.module, LAMBDA, made, self.frame.function)
        return FunctionValue(self._lambdas[key], self.frame.id, LAMBDA, True)
