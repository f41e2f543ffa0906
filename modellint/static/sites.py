"""Events grouped by place: one place, all the contexts in which the project reaches it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from modellint.static.context import FileContext
from modellint.static.dependence import NO, UNKNOWN, YES
from modellint.static.evidence import wrong_call
from modellint.static.flow.asking import asks_callers, is_open, left_by_constructor, left_to_callers
from modellint.static.flow.events import CallSite, Event
from modellint.static.flow.forwards import written
from modellint.static.flow.frames import call_at, holds
from modellint.static.flow.relevance import hook_of
from modellint.static.flow.values import Site
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.naming import is_test_file, is_test_module, may_be_script, speaks_of_inference
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.callers import MAX_FILES, files_calling, heirs_nearby, name_in_calls
from modellint.static.project.facts import is_left_open, parameters


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the file under analysis, with everything that was seen to happen there.

    `outside` are events whose own place is in a file that is not checked: `site` is then the call in this file
    that leads there.
    """

    site: Site
    events: tuple[Event, ...]
    outside: bool

    def scope(self, event: Event) -> FunctionInfo:
        """Return the function that holds the place, as one of its events tells."""
        return next((step.caller for step in event.key.chain if step.site == self.site), event.function)


def places(context: FileContext, kind: str) -> Iterator[Place]:
    """Yield the places of this file at which events of `kind` are judged."""
    mine = str(context.module.path)
    here: dict[Site, list[Event]] = defaultdict(list)
    elsewhere: dict[tuple[Site, Site], list[Event]] = defaultdict(list)  # one call may lead to several models
    shared: dict[str, set[Site]] = defaultdict(set)
    asked: set[Site] = set()
    for event in seen_in(context):
        if event.key.kind != kind:
            continue
        call = _call_of_shared_method(event, context)
        if call is not None and context.is_checked(call.site.path):
            if call.site.path == mine:
                elsewhere[call.site, event.site].append(event)
                asked.add(call.site)
            continue  # else it is judged with the file of the call
        if event.site.path == mine:
            here[event.site].append(event)
        elif context.is_checked(event.site.path) and not _is_seen_here_alone(event, context):
            if not event.training and event.key.chain:
                shared[event.site.path].add(event.site)
        else:
            call = next((s for s in reversed(event.key.chain) if s.site.path == mine), None)
            if call is not None:
                elsewhere[call.site, event.site].append(event)
    for site, events in sorted(here.items()):
        yield Place(site, in_order(judged_at_callers(events)), False)
    seen = seen_in(context) if elsewhere else ()
    trained = {step for event in seen if event.training for step in event.key.chain}
    for (site, _), events in sorted(elsewhere.items()):
        events = [event for event in events if not _is_of_a_whole(event, site, trained)]
        judged = site in asked
        told = (e for e in judged_at_callers(events) if judged or not is_open(e) or _is_left_to_heirs(site, e))
        yield Place(site, in_order(told), True)
    for path, sites in sorted(shared.items()):
        yield from _shared_places(context, Path(path), sites, kind)


def _is_seen_here_alone(event: Event, context: FileContext) -> bool:
    """Tell whether a root of this file leads to a file that is checked, too, from where nobody finds this caller.

    Callers are looked for by imports: of `model.encode(x)` in a file between, which is given the model, none tells. It
    is asked of what this file built alone, whose mode it knows.
    """
    if event.training or event.root.module is not context.module or not event.key.chain:
        return False
    built = all(s.obj.born is not None and s.obj.born.path == str(context.module.path) for s in event.snapshots)
    other = context.neighbour(Path(event.site.path), "report") if built and not is_open(event) else None
    if other is None:
        return False
    return not any(seen.site == event.site and seen.root.module is context.module for seen in seen_in(other))


def _is_of_a_whole(event: Event, site: Site, trained: set[CallSite]) -> bool:
    """Tell whether the call at `site` leads to a function of a file not checked that trains and evaluates.

    How it evaluates is nothing that the call could change.
    """
    return not event.training and any(step.site == site and step in trained for step in event.key.chain)


def shown_at(
    calls: Iterable[CallSite | None], right: Iterable[Event], place: Place, context: FileContext
) -> Site | None:
    """Return where to report wrong `calls` that lead to `place` if nobody checks the files that they stand in.

    That is the place itself, unless a call can be reported, or the place trains for others among those who are `right`.
    """
    checked = any(call is not None and context.is_checked(call.site.path) for call in calls)
    return None if checked or any(event.training for event in right) else place.site


def blamed_call(bad: Event, good: Collection[Event], context: FileContext) -> CallSite | None:
    """Return the call that makes the difference between `bad` and the `good` ways to a place, None without one.

    A method that a library calls switched for evaluation leaves modes and autograd to it, which is a good way, too:
    whoever calls it by hand has to do the same.
    """
    if good:
        return wrong_call(bad, good)
    calls = (step for step in reversed(bad.key.chain) if not _is_hook(step.caller, context))
    return next((step for step in calls if _is_hook(step.callee, context)), None)


def _is_hook(function: FunctionInfo, context: FileContext) -> bool:
    hook = hook_of(function, context.project, context.knowledge)
    return hook is not None and hook.is_evaluation


def called_from(step: CallSite) -> tuple[Site, str]:
    """Return the place of a call that led to an event, and what to say of it beside a finding."""
    return step.site, f"called from here, by {step.caller.qualname}"


def written_at(event: Event, site: Site, context: FileContext) -> str:
    """Return how a model is written at `site`: as `net.sample` where the network's own method leads to its forward."""
    cls = event.function.cls
    if cls is None or not context.classes.is_module(cls):
        return event.text
    calls = (call_at(step.caller, site) for step in event.key.chain if step.site == site and step.callee.cls is cls)
    return next((written(call) for call in calls if call is not None), event.text)


def _call_of_shared_method(event: Event, context: FileContext) -> CallSite | None:
    """Return the call of a module's method that its `forward` calls as well: the callers decide on the mode, not it."""
    function, chain = event.function, event.key.chain
    if not chain or function.cls is None or function.name == "forward" or chain[-1].callee is not function:
        return None
    forward = context.project.method(function.cls, "forward")
    shared = forward is not None and function.name in forward.callees and context.classes.is_module(function.cls)
    return chain[-1] if shared else None


def _shared_places(context: FileContext, path: Path, sites: set[Site], kind: str) -> Iterator[Place]:
    """Yield places in another file that is checked, too, with the contexts of all callers.

    Where some callers are right and some wrong, the wrong calls are reported, and one of them may be in this file.
    """
    other = context.neighbour(path, "report")
    if other is None:
        return
    found: dict[Site, list[Event]] = defaultdict(list)
    for event in seen_in(other):
        if event.key.kind == kind and event.site in sites:
            found[event.site].append(event)
    for site, events in sorted(found.items()):
        yield Place(site, in_order(judged_at_callers(events)), False)


def calls_at(context: FileContext, site: Site | None) -> Iterator[tuple[FunctionInfo, ast.Call]]:
    """Yield the calls that begin at `site`, in whichever file, with the functions that they stand in."""
    if site is None or (module := context.project.load(Path(site.path), context.module.path, "calls")) is None:
        return
    for scope in (module.body, *module.functions):
        if (call := call_at(scope, site)) is not None:
            yield scope, call


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return events in an order of their own, whichever files were analysed before: the best known model first."""
    return tuple(sorted(events, key=_order))


def _order(event: Event) -> tuple[object, ...]:
    key, obj = event.key, event.snapshots[0].obj
    known = (YES, UNKNOWN, NO).index(obj.depends), not obj.detail, not obj.hints, obj.cls is None
    calls = tuple(step.site for step in key.chain)
    passed = sorted((text, holds) for (_, text), holds in key.path)
    made = obj.born is not None, obj.born or (), obj.how
    return known, calls, repr(key.unrolled), passed, event.text, key.detail, made


def judged_at_callers(events: Iterable[Event]) -> Iterator[Event]:
    """Leave out what only the callers can tell wherever a caller is in sight that tells it.

    Functions that call each other, and that nobody else calls, tell it themselves.
    """
    listed = list(events)
    leads = {(event.root, step.callee) for event in listed for step in event.key.chain}
    called = {callee for root, callee in leads if (callee, root) not in leads}
    told = {function for function in called if not _is_shown_by_examples(function, listed)}
    for event in listed:
        root = event.root
        if not root.is_body and root in told:
            if left_to_callers(event):
                continue
            if left_by_constructor(event) and any(_is_led_to(other, event) for other in listed):
                continue
            if _is_told_the_model(event, listed):
                continue
        yield event


def _is_shown_by_examples(function: FunctionInfo, listed: Iterable[Event]) -> bool:
    """Tell whether the only callers in sight are examples that run networks without a mode: a library is for others."""
    callers = (event for event in listed if any(step.callee is function for step in event.key.chain))
    return all(
        all(snapshot.obj.depends == NO for snapshot in caller.snapshots)
        and _is_example(caller.root.module.path, function.module.path)
        for caller in callers
    )


def _is_example(path: Path, library: Path) -> bool:
    """Tell whether a file is a notebook, a test or an example beside the file of a library."""
    beside = {part.lower() for part in path.parts} - {part.lower() for part in library.parts}
    notebook = path.suffix == ".ipynb" and library.suffix != ".ipynb"
    return notebook or is_test_file(path) or not _EXAMPLES.isdisjoint(beside)


_EXAMPLES = frozenset("example examples doc docs tutorial tutorials notebook notebooks demo demos".split())


def _is_told_the_model(event: Event, listed: Iterable[Event]) -> bool:
    """Tell whether one of `listed` is `event` as seen from a caller that built the model that it was given."""
    if any(s.obj.cls is not None or s.obj.born is not None for s in event.snapshots):
        return False
    return any(
        other.site == event.site
        and any(step.callee is event.root for step in other.key.chain)
        and all(isinstance(s.obj.cls, ClassInfo) for s in other.snapshots)
        for other in listed
    )


def _is_led_to(other: Event, event: Event) -> bool:
    """Tell whether `other` is what `event` is, seen from a caller that has built the object and may have readied it."""
    if not any(step.callee is event.root for step in other.key.chain):
        return False
    made = {s.obj.born for s in event.snapshots}
    return made == {s.obj.born for s in other.snapshots}


def seen_in(context: FileContext) -> list[Event]:
    """Return all that was seen of a file: from its own functions, and from the callers of what it leaves to them."""
    outside = from_other_files(context)
    return [*context.flow.events, *outside]


def from_other_files(context: FileContext) -> list[Event]:
    """Return the events in this file that code of other files leads to, for what is left to the callers."""
    if context.outside_events is not None:
        return context.outside_events
    context.outside_events = []
    here = [event for event in context.flow.events if _is_judged_here(event, context)]
    asked = {event.root for event in here if not event.root.is_body and asks_callers(event)}
    roots = {event.root for event in context.flow.events}
    asked |= {function for function in context.module.functions if function not in roots and _runs_a_model(function)}
    asked |= {
        callee
        for event in here
        if event.root.is_body and not event.training
        for callee in _told_by_callers(event)
        if callee.module is context.module
    }
    done = set(asked)
    for _ in range(_STEPS_OUT):
        found = []
        for path, names in _callers(context, asked).items():
            seen = context.callers_in(path, frozenset(names))
            found += [event for event in seen if event.key.chain and _is_judged_here(event, context)]
        context.outside_events += found
        asked = {event.root for event in found if not event.root.is_body and asks_callers(event)} - done
        done |= asked
    context.outside_events += _seen_in_heirs(context)
    return context.outside_events


def _seen_in_heirs(context: FileContext) -> Iterator[Event]:
    """Yield what happens where methods of this file lead to, in classes of other files that inherit them.

    Of those named for inference alone: `test()` of a base class calls the `forward()` that it leaves to its heirs.
    """
    mine = str(context.module.path)
    bases = [cls for cls in context.module.classes if any(map(_runs_what_heirs_define, cls.methods.values()))]
    others = {heir.module.path for base in bases for heir in heirs_nearby(context.project, base)}
    for path in sorted(others - {context.module.path}):
        other = context.neighbour(path, "calls")
        events = other.flow.events if other is not None else []
        reached = {event.site for event in events if any(step.site.path == mine for step in event.key.chain)}
        yield from (event for event in events if event.site in reached)


def _is_left_to_heirs(site: Site, event: Event) -> bool:
    """Tell whether the call at `site`, on the way to an event, is of a method that an inference method has empty."""
    return any(step.site == site and _runs_what_heirs_define(step.caller) for step in event.key.chain)


def _runs_what_heirs_define(method: FunctionInfo) -> bool:
    """Tell whether a method named for inference calls another one of the object that its class leaves to its heirs."""
    cls = method.cls
    if cls is None or speaks_of_inference(method.name) is not True:
        return False
    called = (attribute_of(call.func, method.self_name or "") for call in method.calls)
    return any(name in cls.methods and is_left_open(cls.methods[name]) for name in called if name is not None)


def _is_judged_here(event: Event, context: FileContext) -> bool:
    """Tell whether an event is one of this file, or one that a call of this file leads to in a file not checked."""
    mine = str(context.module.path)
    if event.site.path == mine or context.is_checked(event.site.path):
        return event.site.path == mine
    return any(step.site.path == mine for step in event.key.chain)


def _runs_a_model(function: FunctionInfo) -> bool:
    """Tell whether a function calls a model that it is given: whether that serves inference its callers know."""
    called = {call.func.id for call in function.calls if isinstance(call.func, ast.Name)}
    return any(MODEL_NAME.match(argument.arg) and argument.arg in called for argument, _ in parameters(function))


_STEPS_OUT = 2
"""How far callers of callers are looked for in other files: a script runs a trainer, which asks an evaluator."""


def _told_by_callers(event: Event) -> Iterator[FunctionInfo]:
    """Yield the functions on the way to an event that a script of their own file calls, and tells mode or autograd.

    A script that evaluates under no_grad at its end says nothing of others who call its function.
    """
    sites = {s.grad.site for s in event.snapshots} | {fact.site for s in event.snapshots for fact in s.modes}
    functions = [step.callee for step in event.key.chain]
    for index, function in enumerate(functions):
        if any(site is not None and not any(holds(f, site) for f in functions[index:]) for site in sites):
            yield function


def seen_by_callers(
    context: FileContext, functions: Iterable[FunctionInfo], checked: bool = False
) -> Iterator[list[Event]]:
    """Yield what was seen in each file that calls one of `functions`, of those that are checked, too, if so asked."""
    for path, names in _callers(context, functions).items():
        if checked or not context.is_checked(str(path)):
            yield context.callers_in(path, frozenset(names))


def _callers(context: FileContext, functions: Iterable[FunctionInfo]) -> dict[Path, set[str]]:
    """Return the files that mention one of `functions` and the file they are defined in, with the names mentioned."""
    wanted: dict[Path, set[str]] = defaultdict(set)
    for function in functions if not context.is_alone else ():
        name = name_in_calls(function)
        files, _ = files_calling(context.project, function, "calls")
        if len(files) <= MAX_FILES:
            files = [path for path in files if not _is_test(path, context)]
        else:
            files = [path for path in files if not is_test_file(path)]
            if MAX_FILES < len(files) <= _MAX_LOOKED_AT and function.cls is None:
                files = [path for path in files if _may_call(context, path, function, name)]
        if len(files) > MAX_FILES:
            context.unsearched.add(function)
        else:
            for path in files:
                if function.cls is not None or not _has_its_own(context, path, name):
                    wanted[path].add(name)
        if function.module is not context.module:
            wanted[function.module.path].add(name)  # what calls the caller there
    context.asked_others |= bool(wanted or context.unsearched)
    return wanted


_MAX_LOOKED_AT = 40
"""Of how many files that hold a function's name it is asked which call it; of methods imports tell little."""


def _may_call(context: FileContext, path: Path, function: FunctionInfo, name: str) -> bool:
    """Tell whether a file calls something of a function's name, and imports from where that is defined."""
    module = context.project.load(path, context.module.path, "calls")
    if module is None or name not in module.body.callees:
        return False
    if module.stars:
        return True
    homes = {function.module.imported_as, function.module.path.parent.name, name}
    imported = module.imports.values()
    return any(not homes.isdisjoint((found.name, *found.module.split("."))) for found in imported)


def _is_test(path: Path, context: FileContext) -> bool:
    if not may_be_script(path):
        return is_test_file(path)
    module = context.project.load(path, context.module.path, "calls")
    return module is None or is_test_module(module)


def _has_its_own(context: FileContext, path: Path, name: str) -> bool:
    """Tell whether `name` is a function of the file `path` itself: of many scripts alike, each has one of that name."""
    module = context.project.load(path, context.module.path, "calls")
    if module is None or name not in module.body.functions or module.stars:
        return False
    stem = context.module.imported_as
    return not any(stem in (found.name, *found.module.split(".")) for found in module.imports.values())
