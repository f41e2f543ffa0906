"""How sure a finding can be, by what was measured: kinds of findings that were wrong too often are only possible.

Detectors say how sure a finding looks from where they stand. Here, in one table, stand the circumstances in which such
findings were read in public code and fewer than three in four were true; docs/precision.md has the same table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from modellint.diagnostic import Confidence
from modellint.static.classes import first_part
from modellint.static.context import FileContext
from modellint.static.dependence import NO, UNKNOWN, YES, is_named_for_an_architecture
from modellint.static.family import differentiates, is_part_of_a_forward
from modellint.static.flow.annotated import classes_annotated
from modellint.static.flow.events import Event, Snapshot
from modellint.static.flow.frames import call_at, holds
from modellint.static.flow.libraries import SAVED_WHOLE
from modellint.static.flow.values import ENTRY, JUST_BUILT, LOADED, TRAIN, UNKNOWN_MODES, Obj, Site, kinds
from modellint.static.freezing import is_frozen_by_a_method, is_frozen_by_an_option
from modellint.static.guards import conditions, loops_around, own, path_to
from modellint.static.left_open import sees_to_it_itself, switched_for_training_alone
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.callers import MAX_FILES, heirs_nearby, scopes_mentioning
from modellint.static.project.facts import is_left_open, parameters
from modellint.static.project.names import dotted_name
from modellint.static.purpose import acts_by_name, functions_around
from modellint.static.sites import calls_at
from modellint.static.snapshots import in_eval, in_train, put_into_training


class Case(NamedTuple):
    """What a finding is about: a forward, the state it happened in, and the places that are named as its cause."""

    event: Event
    snapshot: Snapshot
    context: FileContext
    causes: tuple[Site, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """A circumstance in which findings of `rule` were `true` and `false` so many times, and are only possible."""

    rule: str
    what: str
    holds: Callable[[Case], bool]
    true: int
    false: int


def weighed(rule: str, confidence: Confidence, case: Case) -> Confidence:
    """Return how sure a finding of `rule` is that looks as sure as `confidence`."""
    if rule == "ML103" and case.event.in_haste:
        return Confidence.POSSIBLE  # one branch may have called eval(), and another one trains
    if rule in ("ML101", "ML103") and case.event.in_later_lap:
        return Confidence.POSSIBLE  # which laps come after which other ones may follow from what nobody sees
    doubted = any(doubt.rule == rule and doubt.holds(case) for doubt in DOUBTS)
    return Confidence.POSSIBLE if doubted else confidence


def _has_no_known_mode(case: Case) -> bool:
    """Tell whether classes are in sight of which nothing tells that they depend on the mode.

    A model of a library in one, or one that is wrapped by it, would tell, and so does a class that inherits from it.
    """
    models = [snapshot.obj for snapshot in case.event.snapshots if snapshot.obj.depends == UNKNOWN]
    return bool(models) and all(isinstance(obj.cls, ClassInfo) and not _tells_of_a_mode(obj, case) for obj in models)


def _tells_of_a_mode(obj: Obj, case: Case) -> bool:
    assert isinstance(obj.cls, ClassInfo)
    classes = case.context.classes
    if obj.hints or classes.dependence(obj.cls).hints:
        return True
    return any(classes.dependence(heir).answer == YES for heir in heirs_nearby(case.context.project, obj.cls))


def _builds_what_has_no_known_mode(case: Case) -> bool:
    """Tell whether classes are in sight that build parts out of sight, none of which is known to depend on the mode.

    Of what they are given callers know more, and who writes train() thinks of a mode.
    """
    if put_into_training(case.snapshot):
        return False
    classes = case.context.classes
    known = (s.obj.cls for s in case.event.snapshots if isinstance(s.obj.cls, ClassInfo))
    return _has_no_known_mode(case) and not any(classes.dependence(cls).hangs_on for cls in known)


_DEPEND = (
    *("ropout", "atchNorm", "atch_norm", "drop_path"),
    *("torchvision.models", "torchvision import models", "import timm", "from timm", "transformers"),
    *("if self.training", "if not self.training"),
)
"""What a project names that has layers which depend on the mode, of its own or of a library of models."""


_BASES = ("(nn.Module", "(torch.nn.Module")
"""How the bases of a class begin that is a module of torch."""


def _comes_from_where_nothing_has_a_mode(case: Case) -> bool:
    """Tell whether a model is of a project with modules of which none has a mode, and was made or saved out of sight.

    What is saved whole can be loaded only where its class is; so can what an object that is no import makes, be it put
    into training afterwards.
    """
    for snapshot in case.event.snapshots:
        made_there = all(fact.how == SAVED_WHOLE for fact in snapshot.modes)
        if not all(fact.how in (SAVED_WHOLE, JUST_BUILT) or fact.by_train or fact.by_eval for fact in snapshot.modes):
            return False
        by_callers = snapshot.obj.born is None and put_into_training(snapshot)
        if not made_there and (by_callers or _is_imported(case.context, snapshot.obj.born)):
            return False
    project, mine = case.context.project, case.context.module.path
    modules = frozenset(path for begin in _BASES for path in project.mentioning(begin, mine, "calls"))
    near = _read_by(case.context)
    looked_at = None if near.isdisjoint(modules) or _have_heirs(near & modules, case.context) else near
    named = (path for word in _DEPEND for path in project.mentioning(word, mine, "calls"))
    return bool(modules) and not any(looked_at is None or path in looked_at for path in named)


def _have_heirs(paths: Iterable[Path], context: FileContext) -> bool:
    """Tell whether modules of these files are bases of others: what is made may be one of those."""
    files = (context.project.load(path, context.module.path, "calls") for path in sorted(paths))
    bases = (cls for module in files if module is not None for cls in module.classes if context.classes.is_module(cls))
    return any(True for base in bases for _ in heirs_nearby(context.project, base))


def _read_by(context: FileContext) -> frozenset[Path]:
    """Return the file and those of the project that it imports, itself or through one of them."""
    found = {context.module.path: context.module}
    for _ in range(_HOPS):
        for module in list(found.values()):
            for made in (*module.imports.values(), *module.stars):
                path = context.project.paths.find(module.path, made.module, made.level)
                if path is None or path in found or len(found) > _MAX_FILES:
                    continue
                loaded = context.project.load(path, context.module.path, "calls")
                if loaded is not None:
                    found[path] = loaded
    return frozenset(found)


_HOPS, _MAX_FILES = 2, 40


def _is_imported(context: FileContext, site: Site | None) -> bool:
    """Tell whether the call at `site` calls what another file or a library offers by a name.

    What hydra makes is what a configuration names, of the project as a rule.
    """
    for scope, call in calls_at(context, site):
        called = context.project.resolve_in(scope, call.func)
        given = any(parameter.arg == first_part(dotted_name(call.func) or "") for parameter, _ in parameters(scope))
        if called is not None and not given and first_part(called.dotted or "") != "hydra":
            return True
    return False


def _is_of_a_class_out_of_sight(case: Case) -> bool:
    """Tell whether all that is known of a model is that it was built, of one class (a factory may build any), whose
    name is none of a network with a mode."""
    obj, modes = case.snapshot.obj, case.snapshot.modes
    if obj.depends != UNKNOWN or obj.born is None or isinstance(obj.cls, ClassInfo):
        return False
    built = modes == UNKNOWN_MODES or all(fact.how == JUST_BUILT for fact in modes)
    classes = _classes_named(case.context, obj.born) if built else []
    return bool(classes) and not any(map(is_named_for_an_architecture, classes))


def _classes_named(context: FileContext, site: Site) -> list[str]:
    """Return the classes that the call at `site` calls, itself or a method of one: `Net()`, `Net.restore(path)`."""
    calls = calls_at(context, site)
    names = [(context.qualified(scope, call.func) or dotted_name(call.func) or "").split(".") for scope, call in calls]
    return [word for name in names for word in name[-2:] if word[:1].isupper()]


def _nothing_tells(case: Case) -> bool:
    """Tell whether nothing in sight says that a model depends on the mode: no layer, no library, no `train()`.

    Torch's default, or what unseen callers leave, alone says that it is in training mode then. Weights that were
    loaded into it say that it is used as it stands, and who trains it, too, is wrong about one of the two. Who writes
    `eval` in the same function thinks of a mode.
    """
    obj, classes = case.snapshot.obj, case.context.classes
    if obj.depends != UNKNOWN or switched_for_training_alone(case.event, case.context):
        return False
    of_torch = isinstance(obj.cls, str) and obj.cls.startswith("torch.nn.")  # its layers are known, or from anywhere
    trained = case.event.model_trained and not _is_of_a_module(case) and not of_torch
    if trained or "eval" in case.event.function.words:
        return False
    likely = LOADED in obj.weights
    if isinstance(obj.cls, ClassInfo):
        likely = obj.hints or classes.dependence(obj.cls).hints
    elif obj.cls is not None:
        likely = obj.hints or (not of_torch and (likely or classes.of_external(obj.cls, None).hints))
    elif declared := _declared(case.context, obj.born):
        found = [classes.dependence(cls) for cls in declared]
        likely = any(one.answer == YES or one.hints for one in found)
    return not likely and not any(fact.by_train or fact.by_library for fact in case.snapshot.modes)


def _declared(context: FileContext, site: Site | None) -> list[ClassInfo]:
    """Return the classes of the project, with their heirs, of which the call at `site` makes one, as the annotation of
    its variable says: `actor: Actor = make(config)`. Nothing where it names any other class."""
    declared: list[ClassInfo] = []
    for scope, call in calls_at(context, site):
        notes = [node.annotation for node in own(scope, ast.AnnAssign) if node.value is call]
        symbols = [context.project.resolve_in(scope, named) for note in notes for named in classes_annotated(note)]
        named = [symbol.target for symbol in symbols if symbol is not None and isinstance(symbol.target, ClassInfo)]
        if len(named) < len(symbols):
            return []
        declared += named
    heirs = [heir for cls in declared for heir in heirs_nearby(context.project, cls)]
    if not heirs and any(_leaves_its_forward_open(cls, context) for cls in declared):
        return []  # of an abstract class the heirs are out of sight
    return [*declared, *heirs]


def _leaves_its_forward_open(cls: ClassInfo, context: FileContext) -> bool:
    forward = context.project.method(cls, "forward")
    return forward is None or is_left_open(forward)


def _is_most_likely_of_the_file(case: Case) -> bool:
    """Tell whether a model of which nothing is known comes to a file whose own networks have no mode.

    From callers, or as it was saved whole, to a file that saves as well, whose own are also those that it builds.
    """
    obj, context, module = case.snapshot.obj, case.context, case.event.function.module
    if obj.cls not in (None, "torch.load") or obj.depends != UNKNOWN:
        return False
    scopes = (module.body, *module.functions)
    if obj.born is not None and not _is_saved_by_them(case, scopes):
        return False
    builders = scopes if obj.born is not None else ()
    built = {context.project.resolve_in(scope, call.func) for scope in builders for call in scope.calls}
    made = {symbol.target for symbol in built if symbol is not None and isinstance(symbol.target, ClassInfo)}
    modules = [cls for cls in {*module.classes, *made} if context.classes.is_module(cls) and _has_forward(cls, context)]
    networks = [cls for cls in modules if not context.weights.of(cls).is_weightless]
    found = [context.classes.dependence(cls) for cls in networks]
    tells = any(one.answer == YES or one.hints for one in found)
    return not tells and any(one.answer == NO for one in found)


def _is_saved_by_them(case: Case, scopes: Iterable[FunctionInfo]) -> bool:
    saved = all(fact.how == SAVED_WHOLE for fact in case.snapshot.modes)
    return saved and any("save" in scope.callees for scope in scopes)


def _has_forward(cls: ClassInfo, context: FileContext) -> bool:
    return context.project.method(cls, "forward") is not None


def _is_of_a_module(case: Case) -> bool:
    """Tell whether what runs a model is a method of a module, or will be one: its callers set the mode of all."""
    root = case.event.root
    first = next((parameter.arg for parameter, _ in parameters(root)), "")
    grafted = root.cls is None and first == "self"  # put into a class out of sight
    return grafted or (root.cls is not None and case.context.classes.is_module(root.cls))


def _may_see_to_it_itself(case: Case) -> bool:
    project, name = case.context.project, case.event.key.detail
    if case.event.model_trained and put_into_training(case.snapshot):
        return False  # the same code trains it and calls train(): a module of torch, whose methods keep the mode
    return sees_to_it_itself(case.event, case.snapshot) and not project.mentioning(
        f"def {name}(", case.context.module.path, "calls"
    )


def _is_in_a_part_that_does_not_run(case: Case) -> bool:
    """Tell whether the layer that depends on the mode is in a part of a model that its forward leaves alone.

    A loss or a network that measures is for the methods that train and validate.
    """
    obj, classes = case.snapshot.obj, case.context.classes
    part = obj.detail.rpartition(" in ")[2]
    if (
        not isinstance(obj.cls, ClassInfo)
        or case.event.key.detail not in ("", "forward")
        or not classes.stores(obj.cls, part)
    ):
        return False
    forward = case.context.project.method(obj.cls, "forward")
    run = classes.parts_run(forward) if forward is not None else frozenset({""})
    if not run or "" in run or part in run:
        return False
    return not any(classes.of_part(obj.cls, name).answer == YES for name in run)


def _is_readied_out_of_sight(case: Case) -> bool:
    """Tell whether a method, which nobody in sight runs, has a model with its weights and calls no eval()."""
    event, snapshot = case.event, case.snapshot
    if event.root.cls is None or snapshot.grad.state != ENTRY or event.model_trained:
        return False
    if "detached" in event.uses and acts_by_name(event):
        return False  # it acts on what it cuts off, in whatever mode
    if any(fact.by_eval for fact in snapshot.modes):
        return False
    return not in_eval(snapshot) and not in_train(snapshot) and ENTRY not in kinds(snapshot.modes)


def _may_differentiate(case: Case) -> bool:
    """Tell whether a model of which nothing is known belongs to a project whose networks differentiate in `forward`.

    They need autograd, as those do whose forces are the gradient of an energy. Whoever detaches what
    they give, and calls no eval() or makes what a configuration names, may know.
    """
    known = any(snapshot.obj.cls is not None for snapshot in case.event.snapshots)
    if known or "detached" not in case.event.uses:
        return False
    born = case.snapshot.obj.born
    if in_eval(case.snapshot) and (born is None or case.snapshot.obj.part or _is_imported(case.context, born)):
        return False
    project = case.context.project
    return any(
        differentiates(cls, project)
        for scope in scopes_mentioning(project, "autograd.grad(", case.context.module.path, MAX_FILES)
        if scope.is_body
        for cls in scope.classes.values()
        if case.context.classes.is_module(cls)
    )


def _goes_into_an_array(case: Case) -> bool:
    """Tell whether what a file of TorchScript gives becomes an array as it is, which no tensor with a graph does: the
    weights in it are frozen."""
    uses = case.event.uses
    return case.snapshot.obj.cls == "torch.jit.load" and "array" in uses and "detached" not in uses


def _may_be_volatile(case: Case) -> bool:
    """Tell whether the functions that lead to a forward switch autograd off by `volatile=`, as torch 0.3 had it.

    Or a file that is read, which may make the data. Of inputs that are known to be marked so the rule says that this
    has no effect any more; and what is written for torch 0.4 runs where it has none.
    """
    event, context = case.event, case.context
    if "volatile" in event.uses:
        return False
    if any(not _SINCE_VOLATILE.isdisjoint(scope.callees) for scope in functions_around(event)):
        return False
    calls = (call for function in functions_around(event) for call in function.calls)
    if any(keyword.arg == "volatile" for call in calls for keyword in call.keywords):
        return True
    mine = context.module.path
    others = [path for path in context.project.mentioning("volatile=", mine, "calls") if path != mine]
    return bool(others) and not _read_by(context).isdisjoint(others)


_SINCE_VOLATILE = frozenset({"to", "item", "no_grad", "set_grad_enabled", "enable_grad"})
"""Methods and functions that came with torch 0.4, which ignores `volatile=`."""


def _is_second_try(case: Case) -> bool:
    """Tell whether a forward stands in an `except`, for a model that needs gradients itself: the `try` had none."""
    function = case.event.function
    call = call_at(function, case.event.site)
    path = path_to(function, call) if call is not None else []
    tries = [node for node in path if isinstance(node, ast.Try)]
    return any(
        handler in path and any(_switches(node) for part in attempt.body for node in ast.walk(part))
        for attempt in tries
        for handler in attempt.handlers
    )


def _is_frozen_unless_it_trains(case: Case) -> bool:
    return is_frozen_by_an_option(case.event, case.context)


def _is_asked_to_freeze(case: Case) -> bool:
    return is_frozen_by_a_method(case.event, case.context)


def _is_differentiated_outside(case: Case) -> bool:
    """Tell whether a `forward` gives what its method computed, with its graph, where a project enables autograd.

    It does so to differentiate at inference: by a conditioner, or a guide, that others call.
    """
    root, uses = case.event.root, case.event.uses
    if "returned with its graph" not in uses or not is_part_of_a_forward(root, case.context.classes):
        return False
    scopes = scopes_mentioning(case.context.project, "enable_grad(", case.context.module.path, MAX_FILES)
    return any({"enable_grad", "backward"} <= scope.callees for scope in scopes)


def _switches(node: ast.AST) -> bool:
    if not isinstance(node, ast.With):
        return False
    return any(word in ast.unparse(item.context_expr) for item in node.items for word in ("no_grad", "inference_mode"))


def _was_built_so(case: Case) -> bool:
    """Tell whether who built a model called eval(), and who calls the method that trains is not in sight."""
    cls = case.event.root.cls
    trained = [fact for snapshot in case.event.snapshots for fact in snapshot.modes if fact.mode == TRAIN]
    if cls is None or not all(fact.by_train for fact in trained):
        return False
    family = case.context.project.ancestry(cls)[0]
    makers = [method for base in family for method in base.methods.values() if method.name == "__init__"]
    born = case.snapshot.obj.born
    module = case.context.project.load(Path(born.path), case.context.module.path, "calls") if born is not None else None
    makers += [function for function in (module.functions if module is not None else ()) if holds(function, born)]
    asked = (case.context.project.resolve_in(maker, call.func) for maker in makers for call in maker.calls)
    makers += [symbol.target for symbol in asked if symbol is not None and isinstance(symbol.target, FunctionInfo)]
    # `if train: self.model.train()` in the constructor is an answer to the same question
    switched = (*case.causes, *(fact.site for fact in trained))
    return all(any(holds(maker, site) for maker in makers) for site in switched)


def _is_readied_under_a_condition(case: Case) -> bool:
    """Tell whether a function that trains calls train() before, under the condition under which another called eval().

    Or unless the model is frozen, which is left in evaluation mode for good: `if not args.freeze: net.train()`. What
    puts it into evaluation mode again in a loop that the train() is not part of is not undone by that.
    """
    event, function = case.event, case.event.function
    forward = call_at(function, event.site)
    if forward is None:
        return False
    causes = [(where, call) for site in case.causes for where, call in calls_at(case.context, site)]
    before = {
        (ast.unparse(test), holds)
        for where, call in causes
        if where is not function
        for test, holds in conditions(where, call)
    }
    switched = [call for where, call in causes if where is function]
    switched += [call for where, _ in causes for call in function.calls_of(where.name)]
    asked = {ast.unparse(test) for test, _ in conditions(function, forward)}
    readied = [
        call
        for call in function.calls_of("train")
        if isinstance(call.func, ast.Attribute)
        and call.lineno < forward.lineno
        and ast.unparse(call.func.value).partition("[")[0] == event.text.partition("[")[0]
        and all(set(loops_around(function, other)) <= set(loops_around(function, call)) for other in switched)
    ]
    ways = {(ast.unparse(test), holds) for call in readied for test, holds in conditions(function, call)}
    return any(
        test not in asked
        and (test, not holds) not in ways
        and ((test, holds) in before or _FREEZES.search(test) is not None)
        for test, holds in ways
    )


_FREEZES = re.compile(r"(^|[_\W])(freez\w*|frozen|fix(ed)?|lock(ed)?)([_\W]|$)", re.I)


DOUBTS = (
    Doubt("ML101", "a method of a class out of sight that does a whole task", _may_see_to_it_itself, 0, 3),
    Doubt("ML101", "nothing tells that the model depends on the mode", _nothing_tells, 3, 15),
    Doubt("ML101", "from callers to a file whose own networks have no mode", _is_most_likely_of_the_file, 0, 2),
    Doubt("ML101", "of a project without a name that depends on a mode", _comes_from_where_nothing_has_a_mode, 0, 10),
    Doubt("ML101", "of a class out of sight", _is_of_a_class_out_of_sight, 0, 3),
    Doubt("ML101", "the layer is in a part that the forward does not run", _is_in_a_part_that_does_not_run, 0, 2),
    Doubt("ML103", "nothing in the class tells of a mode", _has_no_known_mode, 2, 6),
    Doubt("ML103", "of a project without a name that depends on a mode", _comes_from_where_nothing_has_a_mode, 0, 1),
    Doubt("ML103", "who built the model called eval(), who trains is out of sight", _was_built_so, 0, 8),
    Doubt(
        "ML103",
        "train() comes before, unless the model is frozen, or as eval() did",
        _is_readied_under_a_condition,
        0,
        2,
    ),
    Doubt("ML109", "builds parts out of sight, of which nothing tells of a mode", _builds_what_has_no_known_mode, 0, 1),
    Doubt("ML201", "a method that nobody in sight calls, without eval()", _is_readied_out_of_sight, 0, 3),
    Doubt("ML201", "of a project whose networks differentiate in their forward", _may_differentiate, 0, 2),
    Doubt("ML201", "what a file of TorchScript gives becomes an array as it is", _goes_into_an_array, 0, 3),
    Doubt("ML201", "its callers, or a file it reads, switch autograd off by `volatile=`", _may_be_volatile, 0, 3),
    Doubt("ML201", "an `except` repeats what its `try` did under no_grad", _is_second_try, 0, 7),
    Doubt("ML201", "the class freezes the model unless it is to train", _is_frozen_unless_it_trains, 0, 1),
    Doubt("ML201", "a model out of sight is asked to freeze itself", _is_asked_to_freeze, 0, 1),
    Doubt("ML201", "a part of a `forward`, in a project that switches autograd on", _is_differentiated_outside, 0, 1),
)
