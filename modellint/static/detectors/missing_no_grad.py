"""An inference forward that records autograd."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.attributes import stored
from modellint.static.confidence import Case, weighed
from modellint.static.context import FileContext, Finding
from modellint.static.cutting import is_only_detached
from modellint.static.evidence import (
    PREDICTS,
    SHOWN,
    as_trained,
    is_no_model,
    is_shape_check,
    keeps_its_numbers,
)
from modellint.static.family import (
    builds_what_differentiates,
    differentiates,
    hooks_gradients,
    is_part_of_a_forward,
    under_switch,
)
from modellint.static.flow.events import FORWARD, Event, Snapshot
from modellint.static.flow.frames import call_at, holds
from modellint.static.flow.handed import begins_a_thread
from modellint.static.flow.values import ENTRY, EVAL, LOADED, OFF, ON, RANDOM, TRAIN, UNKNOWN, Site, kinds
from modellint.static.flow.vocabulary import LOSS_METHOD, SWITCHES_OFF
from modellint.static.guards import bindings, conditions, own, path_to, values_of
from modellint.static.left_open import (
    leaves_it_to_others,
    sibling_switches_autograd_off,
    switched_for_training_alone,
)
from modellint.static.looked_at import is_compared
from modellint.static.merge import merged
from modellint.static.naming import snake, speaks_of_inference
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.callers import MAX_FILES, scopes_mentioning
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name, names_in
from modellint.static.purpose import (
    acts_by_name,
    called_for_inference,
    calls_leading_to,
    evaluates_a_loss,
    functions_around,
    is_test_code,
    means_inference,
    over_held_out_data,
    steps_an_environment,
)
from modellint.static.requirements import is_held_below, readmes
from modellint.static.sites import Place, blamed_call, called_from, places, seen_in, shown_at, written_at
from modellint.static.snapshots import gradients_asked, has_loaded_weights, in_eval, in_train, records
from modellint.static.switched_elsewhere import is_called_recording, left_to_others


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report inference forwards under which autograd records, one finding for one cause in one scope."""
    yield from merged(found for place in places(context, FORWARD) for found in _judge(place, context))


def _judge(place: Place, context: FileContext) -> Iterator[tuple[object, Finding]]:
    bad: list[tuple[Event, Snapshot]] = []
    good: list[Event] = []
    for event in place.events:
        wrong = [s for s in event.snapshots if records(s)]
        if wrong and place.outside and all(_is_readied_below(event, s, place, context) for s in wrong):
            continue
        if wrong and _fails_to_enter_a_switch(event):  # equivalent: saves the look
            continue
        if wrong and _confidence(event, wrong[0], context) is not None:
            bad.append((event, wrong[0]))
        elif event.training or event.feeds_training or not wrong:
            good.append(event)
    if not bad:
        return
    classes = {s.obj.cls for event in place.events for s in event.snapshots}
    known = [cls for cls in classes if isinstance(cls, ClassInfo)]
    if any(differentiates(cls, context.project) or hooks_gradients(cls, context.project) for cls in known):
        return  # whichever of the models it is given, it must be able to
    event, snapshot = bad[0]
    given = isinstance(snapshot.obj.cls, ClassInfo) and context.classes.dependence(snapshot.obj.cls).hangs_on
    if event.root.is_body and given and builds_what_differentiates(event.root.module, context.project):
        return
    # a switch thrown on purpose is the business of the rule about autograd at inference
    if snapshot.grad.site is not None or gradients_asked(event, snapshot):
        return
    own = [(e, s) for e, s in bad if not left_to_others(e, context)]
    left, bad = not own, own or bad
    # the same code trains in another turn of a loop; from another caller, that call is right and this one wrong
    good = [e for e in good if not e.training or e.key.chain != event.key.chain]
    calls = [blamed_call(event, good, context) for event, _ in bad]
    instead = shown_at(calls, good, place, context)
    for (event, snapshot), call in zip(bad, calls, strict=True):
        if good and call is None:
            continue
        confidence = Confidence.POSSIBLE if left else _confidence(event, snapshot, context)
        assert confidence is not None
        confidence = weighed("ML201", confidence, Case(event, snapshot, context))
        scope = place.scope(event) if call is None else call.caller
        site = place.site if call is None else instead or call.site
        cell = bisect_right(scope.module.cells, site.row)  # run one by one, each has to switch autograd off
        yield (scope, cell, "autograd"), _finding(event, snapshot, site, confidence, context)


def _fails_to_enter_a_switch(event: Event) -> bool:
    """Tell whether a forward stands in a `with torch.no_grad:`, which names the switch and makes none: another rule
    tells that, of the same cause."""
    around = (outer for function, call in calls_leading_to(event) for outer in path_to(function, call))
    items = (item for outer in around if isinstance(outer, ast.With) for item in outer.items)
    return any(not isinstance(i.context_expr, ast.Call) and last_name(i.context_expr) in SWITCHES_OFF for i in items)


def _is_readied_below(event: Event, snapshot: Snapshot, place: Place, context: FileContext) -> bool:
    """Tell whether what a call leads to by another one, in other files, calls eval(): autograd is its business, too.

    Unless others switch autograd off for it: then who does not is wrong.
    """
    steps = [step.site for step in event.key.chain]
    called, *below = [step.callee for step in event.key.chain[steps.index(place.site) :]]
    if not all(any(holds(function, fact.site) for function in below) for fact in snapshot.modes):
        return False
    return not any(
        under_switch(scope, call)
        for function in (called, *below)
        for scope in scopes_mentioning(context.project, f"{function.name}(", context.module.path, MAX_FILES)
        for call in scope.calls_of(function.name)
    )


def _confidence(event: Event, snapshot: Snapshot, context: FileContext) -> Confidence | None:
    """Return how sure it is that this forward is inference and needs no graph; None without evidence."""
    volatile = "volatile" in event.uses  # no gradient was wanted from it, even where its numbers are trained on
    if volatile and (_is_of_old_days(context) or _is_for_some_releases(event)):
        return None
    moves = steps_an_environment(event)
    target = event.feeds_training and not (moves or _is_evaluated_apart(event, snapshot, context))
    differentiated = not volatile and (event.training or target or event.wants_gradient)
    if differentiated and not (_PREDICTS.match(event.function.name) and _is_cut_at_once(event)):
        return None  # what others train on has still left the graph before a method named predict() gives it
    if snapshot.obj.frozen or is_no_model(event, snapshot):
        return None
    predicts = not PREDICTS.isdisjoint(event.uses)
    by_its_class = _is_readied_by_its_class(event, snapshot)
    sets_eval = (in_eval(snapshot) or by_its_class) and any(fact.site is not None for fact in snapshot.modes)
    if sets_eval and event.result_dropped and _is_read_by_a_hook(event):
        return Confidence.LIKELY
    named = means_inference(event)
    shown = SHOWN | _COUNTED if named else SHOWN  # a caller may drop what an evaluation has counted and logged
    dropped = event.result_dropped and shown.isdisjoint(event.uses)
    between, timed = _is_between_switches(event), sets_eval and _is_timed(event)
    calibrates = sets_eval and (_calibrates(event) or _counts_operations(event))
    by_hand = any(fact.by_eval for fact in snapshot.modes)  # a loader sets a mode for whatever is meant
    kept = sets_eval and (by_hand or _runs_itself(event.root))
    if not kept and _is_left_to_the_whole(event.root, context):
        return None
    learned = has_loaded_weights(snapshot)
    if dropped and not (keeps_its_numbers(event) or between or timed or calibrates) and not learned:
        return None
    if isinstance(snapshot.obj.cls, ClassInfo) and context.weights.is_function(snapshot.obj.cls):
        return None
    if volatile:
        return Confidence.CERTAIN
    numbers_only = not event.kept and not event.goes_on_with_graph
    if timed and numbers_only:
        return Confidence.LIKELY
    if is_test_code(event) or is_shape_check(event, snapshot) or is_compared(event):
        return None
    if (between or calibrates) and numbers_only:
        return Confidence.LIKELY
    cut_off = "detached" in event.uses and numbers_only
    if cut_off and (sets_eval or _is_readied_where_it_is_loaded(snapshot)):
        return Confidence.LIKELY
    if differentiated:
        return None
    if _is_lost_to_a_thread(event):
        return Confidence.LIKELY
    if sets_eval and predicts:
        return Confidence.LIKELY if by_its_class else Confidence.CERTAIN
    if sets_eval and named and keeps_its_numbers(event):
        return Confidence.LIKELY  # `model.evaluation_step(batch)`: the numbers stay in the model
    if sets_eval and named and {"returned", "passed"} & event.uses:
        for_callers = _for_callers(event) and not (_goes_through_data(event, snapshot) or _is_asked_in_turn(event))
        return Confidence.POSSIBLE if for_callers else Confidence.LIKELY
    # a script, from its first line to its last: nothing differentiates the result
    shown_by_a_script = event.root.is_body and numbers_only and _trains_nothing(event.root.module)
    ready = (learned and (in_train(snapshot) or named)) or (
        shown_by_a_script and (learned or _is_of_given_parts(snapshot) or _is_a_network_in_use(event, snapshot))
    )
    if sets_eval and event.root.is_body and (learned or event.model_trained):
        if named or (shown_by_a_script and not event.result_dropped):
            return Confidence.LIKELY
    gives_loss = LOSS_METHOD.match(event.root.name) is not None
    if sets_eval and not event.model_trained and not gives_loss and sibling_switches_autograd_off(event, context):
        return Confidence.LIKELY  # it has one purpose for all of its methods
    evaluates = event.model_trained and (over_held_out_data(event) or called_for_inference(event))
    if predicts and (ready or (evaluates and (in_train(snapshot) or as_trained(event, snapshot)))):
        return Confidence.LIKELY
    if predicts and event.model_trained and any(_EVALUATES.match(f.name) for f in functions_around(event)):
        if in_train(snapshot):
            return Confidence.LIKELY
    if "detached" in event.uses and snapshot.grad.state == ON and (named or (cut_off and evaluates_a_loss(event))):
        return Confidence.LIKELY  # whoever detaches what an evaluation gives has got a graph, whatever the mode
    if _is_cut_off(event, snapshot) and (predicts or _trains_nothing(event.root.module)):
        return Confidence.LIKELY
    if predicts and cut_off and (_is_seen_whole(event, snapshot) or _is_shown_amid_training(event)):
        return Confidence.LIKELY
    if predicts and event.model_trained and not event.root_trains and _is_cut_at_once(event):
        if _is_of_an_object(event, context):
            return Confidence.LIKELY  # it trains the model elsewhere, on other results than these arrays
    if named and predicts and numbers_only and _is_seen_whole(event, snapshot):
        return Confidence.LIKELY  # a script trains, and shows what came of it
    if cut_off and learned and not event.model_trained:
        return Confidence.LIKELY
    if cut_off and any(_PREDICTS.match(f.name) for f in functions_around(event)) and _is_of_an_object(event, context):
        return Confidence.LIKELY
    if numbers_only and _is_measured_beside_training(event, context):
        return Confidence.LIKELY
    if event.kept and _has_its_own_way_in(event, context):
        return Confidence.LIKELY  # `test()` calls `forward()`, as `optimize_parameters()` does, and trains nothing
    if sets_eval and named and _is_set_anew_to_train(event, context):
        return Confidence.LIKELY  # `test()` leaves its pictures where `optimize_parameters()` puts its own
    if sets_eval and event.model_trained and over_held_out_data(event):
        return Confidence.LIKELY  # whatever becomes of it: an object counts what was right
    if numbers_only and (moves or acts_by_name(event)):
        return Confidence.LIKELY  # an environment takes no graph
    as_built = numbers_only and _is_as_built(event, snapshot)
    if named and predicts and (as_built or ENTRY in kinds(snapshot.modes)):
        forgotten = (
            _forgets_both(event, snapshot, context)
            or sibling_switches_autograd_off(event, context)
            or (numbers_only and _is_used_without_gradients(event))
            or is_called_recording(event, context)
        )
        return Confidence.LIKELY if forgotten else Confidence.POSSIBLE
    return None


_VOLATILE_UNTIL = (0, 4)
"""The release of torch that ignores `Variable(x, volatile=True)`; before, that switched autograd off."""


def _is_of_old_days(context: FileContext) -> bool:
    """Tell whether the project runs with releases of torch alone in which `volatile=True` switches autograd off."""
    root, path = context.project.root, context.module.path
    for readme in readmes(root, path.parent):
        context.project.trails.load(readme, path, "report")
    return is_held_below(root, path.parent, "torch", _VOLATILE_UNTIL)


def _is_for_some_releases(event: Event) -> bool:
    """Tell whether a condition on the version of torch leads to a forward: `if torch.__version__ < "0.4":`.

    Not one that holds for later versions alone.
    """
    ways = calls_leading_to(event)
    tests = ((f, test) for f, call in ways for test, to in conditions(f, call) if not _is_since(test, to))
    return any(
        "torch.__version__" in ast.unparse(part)
        for function, test in tests
        for part in (test, *_given_to(names_in(test), function), *_given_to(names_in(test), function.module.body))
    )


def _is_since(test: ast.expr, holds: bool) -> bool:
    """Tell whether a condition compares for what comes after: `version >= "1.0"`, or else of `version < "1.0"`."""
    later = (ast.Gt, ast.GtE) if holds else (ast.Lt, ast.LtE)
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], later)


def _given_to(names: Iterable[str], function: FunctionInfo) -> Iterator[ast.expr]:
    """Yield what a function assigns to variables."""
    return (value for name in names for value in values_of(function, name))


def _is_evaluated_apart(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether a model is evaluated, or run over data, in no loop that trains: another one may learn from it later.

    A probe learns from features, a student from `outputs.append(teacher(x).detach().numpy())`. Of a single forward
    before the training the graph is small.
    """
    if not in_eval(snapshot) or not (means_inference(event) or event.loops):
        return False
    trained = (other for other in context.flow.events if other.training and other.root is event.root)
    return not any(other.loops == event.loops[: len(other.loops)] for other in trained)


def _is_between_switches(event: Event) -> bool:
    """Tell whether eval() stands before a forward and train() after it, of one model: amid training, it evaluates."""
    function, receiver = event.function, event.text.removesuffix(".forward")
    before = any(row < event.site.row for row in _rows_of(function, f"{receiver}.eval"))
    return before and any(row > event.site.row for row in _rows_of(function, f"{receiver}.train"))


def _rows_of(function: FunctionInfo, text: str) -> list[int]:
    calls = function.calls_of(text.rsplit(".", 1)[-1])
    return [call.lineno for call in calls if ast.unparse(call.func) == text]


def _is_timed(event: Event) -> bool:
    """Tell whether a loop runs a forward between two looks at the clock: a benchmark."""
    rows = [call.lineno for call in event.function.calls_of(*_CLOCKS)] if event.loops else []
    return any(row < event.site.row for row in rows) and any(row > event.site.end_row for row in rows)


_CLOCKS = ("time", "perf_counter", "process_time", "monotonic", "elapsed_time")


def _calibrates(event: Event) -> bool:
    """Tell whether a loop runs a model for its observers alone, over data to calibrate a quantization with."""
    if not event.loops or any(_DIFFERENTIATES.search(name) for name in event.function.callees):
        return False
    if "forward_hook" in event.function.module.text:
        return False  # which may differentiate what it gathers
    over = (name for loop in event.loops for name in loop.over)
    if any(map(_CALIBRATES.search, (*over, *(snake(function.name) for function in functions_around(event))))):
        return True
    told = (name for name, row in _methods_asked(event) if row < event.site.row)
    return event.result_dropped and any(_CALIBRATES.search(snake(name)) for name in told)


def _methods_asked(event: Event) -> Iterator[tuple[str, int]]:
    """Yield the methods of the same model that the function of a forward calls, and in which rows."""
    for call in event.function.calls:
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == event.text:
            yield call.func.attr, call.lineno


_CALIBRATES = re.compile(r"(^|_)cali(b\w*)?(_|$)|calibrat")


def _is_left_to_the_whole(method: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a method is a part of a forward: whoever calls the whole sees to autograd; nobody calls it alone."""
    if not is_part_of_a_forward(method, context.classes):
        return False
    scopes = scopes_mentioning(context.project, f".{method.name}(", context.module.path, MAX_FILES)
    calls = ((scope, call.func) for scope in scopes for call in scope.calls_of(method.name))
    owners = ((scope, func.value) for scope, func in calls if isinstance(func, ast.Attribute))
    return all(ast.unparse(owner) in (scope.self_name, "super()") for scope, owner in owners)


def _runs_itself(method: FunctionInfo) -> bool:
    """Tell whether a method of its class calls a module as a whole: `self(x)`."""
    methods = method.cls.methods.values() if method.cls is not None else ()
    return any(ast.unparse(call.func) == other.self_name for other in methods for call in other.calls)


def _counts_operations(event: Event) -> bool:
    """Tell whether a function is named for counting operations, or has the model count: hooks read a forward."""
    function = event.function
    if any(map(_DIFFERENTIATES.search, (function.name, *function.callees))):
        return False
    counting = (name for name, _ in _methods_asked(event))
    return any(_OPERATIONS.search(snake(name)) for name in (function.name, *counting))


_OPERATIONS = re.compile(r"(^|_)(flops?|macs|mult_adds?)(_|$)")


_COUNTED = frozenset({"number", "prediction", "detached"})
"""What is taken of a result to count with it."""


def _is_read_by_a_hook(event: Event) -> bool:
    """Tell whether a forward runs for hooks alone that its function registers, and nobody takes a graph away."""
    function = event.function
    if not any("register_forward_hook" in scope.callees for scope in (function, *function.nested)):
        return False
    if any(_DIFFERENTIATES.search(name) for name in function.callees):
        return False
    return _returns_numbers(function) or any(_cuts_what_it_is_given(inner) for inner in function.nested)


def _returns_numbers(function: FunctionInfo) -> bool:
    """Tell whether all that a function returns was made a number of a tensor: `total = total.item(); return total`."""
    values = [node.value for node in own(function, ast.Return)]
    parts = [part for value in values for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
    made = [values_of(function, part.id)[-1:] if isinstance(part, ast.Name) else [] for part in parts]
    return bool(made) and all(found and last_name(found[0]) == "item" for found in made)


_DIFFERENTIATES = re.compile(r"grad(?!s?_?norm)|backward|jacobian|hessian", re.I)


def _cuts_what_it_is_given(hook: FunctionInfo) -> bool:
    """Tell whether a hook takes the values of its inputs or outputs out of the graph, not just their shapes."""
    given = {argument.arg for argument, _ in parameters(hook)}
    return any(node.attr in _CUTS and _root(node) in given for node in own(hook, ast.Attribute))


def _root(node: ast.expr) -> str | None:
    """Return the variable whose value, or part of it, an expression takes: `out` of `out[0].cpu().data`."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


_CUTS = frozenset({"data", "detach", "numpy", "tolist", "item"})


def _is_lost_to_a_thread(event: Event) -> bool:
    """Tell whether autograd is off where a function is handed to a new thread, in which it is on again."""
    return any(
        begins_a_thread(call) and under_switch(step.caller, call)  # equivalent: elsewhere autograd is off then
        for step in event.key.chain
        if (call := call_at(step.caller, step.site)) is not None  # equivalent: calls are found
    )


def _is_measured_beside_training(event: Event, context: FileContext) -> bool:
    """Tell whether a method takes but a number from what its class trains, where another one switches autograd off."""
    if "number" not in event.uses or not event.model_trained or event.root_trains:
        return False
    cls = event.function.cls
    if cls is None or context.classes.is_module(cls):
        return False
    if speaks_of_inference(event.function.name) is False and "eval" not in event.function.callees:
        return False
    beside = (other for other in context.flow.events if other.function.cls is cls)
    return any(snapshot.grad.state == OFF for other in beside for snapshot in other.snapshots)


def _has_its_own_way_in(event: Event, context: FileContext) -> bool:
    """Tell whether a method named for inference runs the very forward that another one of its object trains by.

    That one does not wait for what this one keeps.
    """
    if event.root.cls is None or speaks_of_inference(event.root.name) is not True:
        return False
    return any(other.site == event.site and other.training for other in seen_in(context))


def _is_set_anew_to_train(event: Event, context: FileContext) -> bool:
    """Tell whether each method of an object that trains sets itself what another one keeps of a forward there."""
    function, cls = event.function, event.function.cls
    call = call_at(function, event.site)
    kept = {name for name, value in stored(function) if value is call}
    family = context.project.ancestry(cls)[0] if cls is not None else []
    training = [method for owner in family for method in owner.methods.values() if "backward" in method.callees]
    return bool(kept and training) and all(kept <= {name for name, _ in stored(method)} for method in training)


def _is_of_an_object(event: Event, context: FileContext) -> bool:
    """Tell whether a method runs what its object holds, and is no module itself: a service, a handler."""
    root = event.root
    if root.cls is None or context.classes.is_module(root.cls):
        return False
    return event.text.startswith(f"{event.function.self_name}.")


def _forgets_both(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether a function evaluates what its file trains, where nothing switches the mode or autograd for it."""
    scopes = (event.root.module.body, *event.root.module.functions)
    others = [scope for scope in scopes if "backward" not in scope.callees]
    if event.root.cls is not None or not all(_GRADIENT_WORDS.isdisjoint(scope.words) for scope in others):
        return False
    return switched_for_training_alone(event, context) and not leaves_it_to_others(event, snapshot, context)


_GRADIENT_WORDS = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


def _is_readied_by_its_class(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a method runs a model of its object that another one put into evaluation mode, and nothing trains.

    Somebody may have switched it again before: what the method is for does not change by that.
    """
    if event.model_trained or kinds(snapshot.modes) != {EVAL, ENTRY}:
        return False
    by_hand = all(fact.by_eval for fact in snapshot.modes if fact.mode == EVAL)
    return by_hand and event.root.cls is not None and event.text.startswith(f"{event.root.self_name}.")


def _is_readied_where_it_is_loaded(snapshot: Snapshot) -> bool:
    """Tell whether a constructor puts a model that it builds into evaluation mode, under a condition: with weights."""
    if kinds(snapshot.modes) != {EVAL, TRAIN} or LOADED not in snapshot.obj.weights:
        return False
    return all(fact.by_eval if fact.mode == EVAL else fact.by_constructor for fact in snapshot.modes)


def _is_as_built(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a method runs what its object built, in a mode that another one may have changed since."""
    return event.root.cls is not None and {fact.by_constructor for fact in snapshot.modes} == {True}


def _is_of_given_parts(snapshot: Snapshot) -> bool:
    """Tell whether a network of the project runs what it got from elsewhere, with weights perhaps."""
    return isinstance(snapshot.obj.cls, ClassInfo) and RANDOM not in snapshot.obj.weights


def _is_seen_whole(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a script runs what it has trained, under autograd and apart from training.

    Nobody but the script itself could differentiate the result.
    """
    recorded = snapshot.grad.state == ON or event.root_trains  # nobody calls what trains without gradients
    return event.model_trained and not event.beside_training and recorded


def _is_a_network_in_use(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether numbers or files are made of what a network gives that has weights, perhaps, that were trained.

    Of one out of sight `detach()` tells that it has a graph to give.
    """
    in_sight = snapshot.obj.cls is not None or "detached" in event.uses
    return in_sight and snapshot.obj.weights != {RANDOM} and not {"number", "reported"}.isdisjoint(event.uses)


def _is_shown_amid_training(event: Event) -> bool:
    """Tell whether a training loop runs its model once more, now and then, to show or to write something down."""
    if not event.beside_training or SHOWN.isdisjoint(event.uses) or "returned" in event.uses:
        return False
    call = call_at(event.function, event.site)
    return call is not None and any(True for _ in conditions(event.function, call))


def _is_used_without_gradients(event: Event) -> bool:
    """Tell whether a function uses what a forward gives under no_grad alone, a `with` that begins after the forward."""
    call = call_at(event.function, event.site)
    names = {name for name, value in bindings(event.function) if value is call}
    loads = [n for n in own(event.function, ast.Name) if n.id in names and isinstance(n.ctx, ast.Load)]
    return bool(loads) and all(under_switch(event.function, load) for load in loads)


def _trains_nothing(module: ModuleInfo) -> bool:
    """Tell whether nothing in a file computes a gradient."""
    return all(_TRAINS.isdisjoint(scope.callees) for scope in (module.body, *module.functions))


_TRAINS = frozenset({"backward", "grad", "step"})


def _is_cut_off(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether all that a function wants of a model it was given is detached, and nothing switches autograd off.

    Whoever writes `detach()` there has a graph in mind, or means none: no_grad would not build one first.
    """
    if event.model_trained or speaks_of_inference(event.function.name) is False:
        return False
    given = ENTRY in kinds(snapshot.modes) <= {ENTRY, UNKNOWN}  # unknown, too, where another method calls its eval()
    return given and _is_cut_at_once(event)


def _is_cut_at_once(event: Event) -> bool:
    call = call_at(event.function, event.site)
    return call is not None and is_only_detached(event.function, call)


_PREDICTS = re.compile(r"^_?(predict|infer|inference|classify|detect|transcribe|translate|synthesi[sz]e)(_|$)")
_EVALUATES = re.compile(r"^_?(test|eval(uate|uation)?|valid(ate|ation)?|predict)(_|$)")
"""Functions that run what was trained, in whatever mode, for numbers and predictions alone."""

_OFFERS = re.compile(
    r"(^|_)(encode|decode|extract|embed(dings?)?|encoder_out(puts?)?|hidden|features?)(_|$)|^_?forward"
)


def _for_callers(event: Event) -> bool:
    """Tell whether a function, or a method of a module, gives what its callers may train on: they know best."""
    root = event.root
    if _readies_itself(event):
        return False
    return _OFFERS.search(root.name) is not None or (root.cls is not None and "forward" in root.cls.methods)


def _goes_through_data(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a function loads a model itself and runs it over all that there is: its callers get mere data."""
    return bool(event.loops) and has_loaded_weights(snapshot)


def _is_asked_in_turn(event: Event) -> bool:
    """Tell whether a loop over batches runs a model by another function, which a function around it has readied.

    `eval()` of the whole, `for batch in self.dataloader: self.logits = self.forward()`: each turn drops the last one.
    """
    around = functions_around(event)[1:]
    steps = event.key.chain[-1:]  # how the method is called that runs the model
    calls = [call_at(step.caller, step.site) for step in steps]
    if not any(node.value in calls for step in steps for node in own(step.caller, ast.Assign)):
        return False
    readied = any(holds(function, fact.site) for s in event.snapshots for fact in s.modes for function in around)
    return readied and any(_BATCHES.search(name) for loop in event.loops for name in loop.over)


_BATCHES = re.compile(r"loader|batch", re.I)


def _readies_itself(event: Event) -> bool:
    """Tell whether a method is named for prediction and calls eval() itself: nobody trains on what it returns."""
    sites = (fact.site for snapshot in event.snapshots for fact in snapshot.modes)
    return _PREDICTS.match(event.root.name) is not None and any(holds(event.root, site) for site in sites)


def _finding(event: Event, snapshot: Snapshot, site: Site, confidence: Confidence, context: FileContext) -> Finding:
    related: list[tuple[Site, str]] = []
    for fact in snapshot.modes:
        if fact.site is not None and fact.mode == EVAL:
            related.append((fact.site, "put into evaluation mode here, which leaves autograd on"))
    hint = "; eval() does not switch that off" if related else ""
    if "volatile" in event.uses:
        hint = "; `volatile=True` has had no effect since torch 0.4"
    related.append((event.site, "the forward"))
    related += [called_from(step) for step in reversed(event.key.chain)]
    return Finding(site, {"model": written_at(event, site, context), "hint": hint}, confidence, related=tuple(related))
