"""A forward in the mode that unseen callers leave: what its author shows to mean, and who else may see to the mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from modellint.static.context import FileContext
from modellint.static.fitting import fitted
from modellint.static.flow.events import FORWARD, Event, Snapshot
from modellint.static.flow.frames import holds
from modellint.static.flow.values import EVAL, OFF, TRAIN
from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.guards import values_bound
from modellint.static.handed_over import is_handed_over
from modellint.static.naming import is_test_module
from modellint.static.narrowing import attribute_of
from modellint.static.overriding import calls_plainly
from modellint.static.project import FunctionInfo
from modellint.static.project.callers import MAX_FILES, files_calling, scopes_mentioning
from modellint.static.project.facts import BODY, parameters
from modellint.static.purpose import functions_around, named_for_inference
from modellint.static.snapshots import has_loaded_weights, in_eval, open_mode, put_into_training


def shows_what_is_meant(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether code shows that this forward is inference, and that nobody else was meant to set the mode.

    The author switches gradients off around it, or sets the mode only where the same class or file trains; where it
    is a method, the class trains the model as well.
    """
    own_switch = snapshot.grad.state == OFF and snapshot.grad.site is not None
    if not (own_switch or switched_for_training_alone(event, context)):
        return False
    return event.function.cls is None or event.function.is_static or _trained_alike(event, context)


def is_begun_elsewhere(event: Event) -> bool:
    """Tell whether something else than another method of the same object began what leads to a forward."""
    return any(step.callee.cls is None or step.caller.cls is not step.callee.cls for step in event.key.chain)


def leaves_it_to_others(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether somebody out of sight may well call eval() for this forward."""
    root = event.root
    return (
        sees_to_it_itself(event, snapshot)
        or is_held_by_something(event, snapshot)
        or _is_called_unseen(event, context)
        or root in context.unsearched
        or _is_optional(event)
        or _is_loaded_in_eval(event, context)
        or is_handed_over(root, context.project)
        or any(parameter.arg == _LIGHTNING for parameter, _ in parameters(root))
        or (root.cls is None and _HELPS_OUT.search(root.name) is not None and not has_loaded_weights(snapshot))
    )


def is_held_by_something(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether a model is an attribute of an object of which nothing is known: a trainer sees to its mode."""
    owners = event.text.split(".")[:-1]
    known = not owners or owners == [event.function.self_name] or any(map(MODEL_NAME.match, owners))
    return open_mode(snapshot) and not known


_LIGHTNING = "pl_module"
"""How Lightning calls the module that it hands to callbacks, in the mode of the stage."""
_HELPS_OUT = re.compile(r"^_?(generate|sample|decode|encode|embed|extract|forward|greedy|beam)(_|$)")
"""Functions that do one thing with a model which others readied: those that evaluate it see to its mode themselves."""
_WHOLE = re.compile(r"^(encode|embed|predict|transcribe|recogni[sz]e|infer|generate|detect)(_\w+)?$")


def sees_to_it_itself(event: Event, snapshot: Snapshot) -> bool:
    """Tell whether the method of a model out of sight is one that libraries offer to users: it may call eval()."""
    return snapshot.obj.cls is None and _WHOLE.match(event.key.detail) is not None


def _is_called_unseen(event: Event, context: FileContext) -> bool:
    """Tell whether a function is called in sight, from where the flow does not lead here.

    From a lambda, from a branch that is not taken, or with nothing for the model.
    """
    root = event.root
    if root.cls is not None:
        return False
    others = (scope for scope in (root.module.body, *root.module.functions) if scope is not root)
    if any(root.name in scope.callees for scope in others):
        return True
    return any(_calls(path, root, context) for path in files_calling(context.project, root, "calls")[0][:MAX_FILES])


def _calls(path: Path, function: FunctionInfo, context: FileContext) -> bool:
    module = context.project.load(path, function.module.path, "calls")
    return module is not None and not is_test_module(module) and function.name in module.body.callees


def _is_optional(event: Event) -> bool:
    """Tell whether a model is an argument that is None by default, and nobody in sight gives one."""
    return any(
        argument.arg == event.text.split(".")[0] and isinstance(default, ast.Constant)
        for argument, default in parameters(event.root)
    )


_SWITCHES = re.compile(r"^(eval|freeze)$|(^|_)mode(_|$)|set_eval|to_eval")


def _trained_alike(event: Event, context: FileContext) -> bool:
    """Tell whether a class trains the model as well and switches it nowhere: it is right for one of the two at most."""
    cls = event.root.cls
    if cls is None or not event.model_trained:
        return False
    family, outside = context.project.ancestry(cls)
    if context.classes.is_module(cls):
        trains = any(e.training and e.root.cls is cls and e.key.oid == event.key.oid for e in context.flow.events)
        if not trains or any(base not in _MODULE for base in outside):
            return False
    elif any(_NO_TRAINER.match(base) is None for base in outside):
        return False
    return not any(_SWITCHES.search(name) for c in family for method in c.methods.values() for name in method.callees)


def _model_of(event: Event) -> str:
    """Return how the model of a forward is written: `self.net` of `self.net.predict(x)`."""
    return event.text.removesuffix(f".{event.key.detail}").removesuffix(".forward")


def is_never_switched(event: Event, context: FileContext) -> bool:
    """Tell whether a class trains a model and predicts with it, and nothing in the project ever calls eval() of it.

    Whatever mode the model is in, it is wrong for one of the two, and no caller is there who changes it in between: no
    file that calls eval() names the class, calls it of an attribute of that name, or of whatever it is given.
    """
    cls = event.root.cls
    if cls is None or context.classes.is_module(cls) or not _trained_alike(event, context):
        return False
    mine, project = context.module.path, context.project
    family, model = project.ancestry(cls)[0], _model_of(event)
    if not _is_trained_by_hand(event, context) and any(
        _may_switch(method, model, context) for owner in family for method in owner.methods.values()
    ):
        return False
    attribute = model.rpartition(".")[2]
    names = {owner.name for owner in family}
    named = {path for name in names for path in project.mentioning(name, mine, "calls")}
    return not any(
        scope.module.path in named or any(_may_be_switched(scope, call, attribute) for call in scope.calls_of("eval"))
        for scope in scopes_mentioning(project, ".eval(", mine)
    )


def _may_be_switched(scope: FunctionInfo, call: ast.Call, attribute: str) -> bool:
    """Tell whether an `eval()` may be of what some object keeps as `attribute`: as that, or handed to a helper."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Attribute):
        return owner.attr == attribute
    if not isinstance(owner, ast.Name):
        return True
    values = values_bound(scope, owner.id)
    return not values or any(isinstance(value, ast.Attribute) and value.attr == attribute for value in values)


def _is_trained_by_hand(event: Event, context: FileContext) -> bool:
    """Tell whether a loop in sight trains the model, and not a library's trainer alone."""
    mine = event.key.oid
    return any(e.training and e.key.kind == FORWARD and e.key.oid == mine for e in context.flow.events)


def is_fitted_by_a_trainer(event: Event, context: FileContext) -> bool:
    """Tell whether a library's trainer trains the model in a method of the class, none of which calls eval().

    `Trainer().fit(self.net, loader)` leaves it in the mode that it found, training mode for a new one
    (rules/frameworks/lightning.yaml): what predicts by hand afterwards runs it so.
    """
    cls = event.root.cls
    family = context.project.ancestry(cls)[0] if cls is not None else []
    methods = [method for owner in family for method in owner.methods.values()]
    model = _model_of(event)
    given = (
        fitted(method, call, context.project, context.classes, context.knowledge)
        for method in methods
        for call in method.calls_of("fit")
    )
    if not any(model in models for models in given):
        return False
    if any("eval" in scope.words for scope in (event.root.module.body, *event.root.module.functions)):
        return False
    return not any(_may_switch(method, model, context) for method in methods)


def _may_switch(method: FunctionInfo, model: str, context: FileContext) -> bool:
    """Tell whether a method switches a mode, by a flag too, or gives the model to somebody else than a trainer."""
    if "training" in method.words or any(_SWITCHES.search(name) for name in method.callees):
        return True
    if any(call.args or call.keywords for call in method.calls_of("train")):
        return True
    given = (call for call in method.calls if any(ast.unparse(argument) == model for argument in call.args))
    return any(model not in fitted(method, call, context.project, context.classes, context.knowledge) for call in given)


def is_never_readied(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether a network predicts by a method of its own under no_grad, is put into training mode where it is
    trained, and nothing that may come to that method calls eval(): the evaluation of the project gets it as it trains.
    """
    root, cls = event.root, event.root.cls
    if cls is None or snapshot.obj.cls is not cls or snapshot.grad.state != OFF or not _PREDICTS.match(root.name):
        return False
    if not any(
        other.training and s.obj.cls is cls and put_into_training(s)
        for other in context.flow.events
        for s in other.snapshots
    ):
        return False
    mine, project = context.module.path, context.project
    asked_by = [
        scope for scope in scopes_mentioning(project, f".{root.name}(", mine) if _asks_another(scope, root.name)
    ]
    if not asked_by:
        return False
    names = {cls.name, *(scope.cls.name if scope.cls is not None else scope.name for scope in asked_by)} - {BODY}
    near = {mine, *(scope.module.path for scope in asked_by)}
    readying = (scope for word in (".eval(", ".train(False") for scope in scopes_mentioning(project, word, mine))
    modules = {scope.module for scope in readying}
    return not any(m.path in near or not names.isdisjoint(m.body.callees | m.imports.keys()) for m in modules)


_PREDICTS = re.compile(r"^(full_sort_)?(predict|infer|recommend)(_|$)")


def _asks_another(scope: FunctionInfo, name: str) -> bool:
    """Tell whether a function calls the method `name` of something else than its own object."""
    called = (call.func for call in scope.calls_of(name))
    return any(isinstance(func, ast.Attribute) and attribute_of(func, scope.self_name or "") is None for func in called)


_NO_TRAINER = re.compile(r"^(object|abc\.ABC|typing\.\w+|sklearn\.base\.\w+)$")
"""Bases outside the project that neither train nor switch anything."""

_MODULE = frozenset({"torch.nn.Module", "object", "abc.ABC"})
"""Bases from which a class has no method that trains or evaluates it."""


def switched_for_training_alone(event: Event, context: FileContext) -> bool:
    """Tell whether the author minds the mode where the same class or file trains, by `train()`, and nowhere else."""
    root = event.root
    if not named_for_inference(event) or root.is_body:
        return False
    if root.cls is None and any("eval" in scope.words for scope in (root.module.body, *root.module.functions)):
        return False
    return any(
        other.training
        and other.root is not root
        and other.root.cls is root.cls
        and other.root.module is root.module
        and not other.root.is_body
        and all(fact.by_train and holds(other.root, fact.site) for s in other.snapshots for fact in s.modes)
        for other in context.flow.events
    )


def _is_loaded_in_eval(event: Event, context: FileContext) -> bool:
    """Tell whether another function of the file calls eval() and runs nothing: it readies the model for this one."""
    running = {function for other in context.flow.events for function in functions_around(other)}
    return any(
        "eval" in f.words and not _LOADS.isdisjoint(f.callees | f.words) and f not in running
        for f in event.root.module.functions
    )


_LOADS = frozenset({"load", "load_state_dict", "from_pretrained", "load_from_checkpoint"})
"""What a function calls that readies a trained model."""


def readies_another(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether the class of a method builds two models that it runs there, and calls eval() of the other alone."""
    cls = event.function.cls
    if cls is None or not any(fact.mode == TRAIN and fact.site is not None for fact in snapshot.modes):
        return False
    for other in context.flow.events:
        if other.root is not event.root or other.key.oid == event.key.oid:
            continue
        readied = [f for s in other.snapshots for f in s.modes if f.mode == EVAL and f.by_eval]
        methods = cls.methods.values()
        if readied and all(f.site is not None and any(holds(m, f.site) for m in methods) for f in readied):
            return True
    return False


def readies_the_wrong_one(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether a method calls eval() of another model than it measures, and that one is trained by the class.

    `self.model.eval()`, `self.personal(x)`: another method that runs this one calls its eval(), or none switches it.
    """
    function, cls = event.root, event.root.cls
    if cls is None or event.function.cls is not cls or event.training or context.classes.is_module(cls):
        return False
    on_the_way = (function, event.function)
    if event.result_dropped or any(_GATHERS.search(f.name) or not _TRAINS.isdisjoint(f.callees) for f in on_the_way):
        return False
    if snapshot.grad.state == OFF:
        if _COUNTED.isdisjoint(event.uses):
            return False
    elif "number" not in event.uses or event.kept or event.goes_on_with_graph:
        return False
    family, outside = context.project.ancestry(cls)
    methods = [method for owner in family for method in owner.methods.values()]
    if any(_NO_TRAINER.match(base) is None for base in outside) or any(map(_switches_by_a_flag, methods)):
        return False
    model, run = _model_of(event), {_model_of(other) for other in context.flow.events if other.root.cls is cls}
    readied = {ast.unparse(call.func).removesuffix(".eval") for call in function.calls_of("eval") if not call.args}
    if model in readied or readied.isdisjoint(run):
        return False
    if not any(calls_plainly(method, f"{model}.train") for method in methods):
        return False
    return not any(calls_plainly(method, f"{model}.eval") for method in methods) or sibling_sets_eval(event, context)


_TRAINS = frozenset({"train", "backward", "zero_grad"})
_COUNTED = frozenset({"number", "prediction", "reported"})
_GATHERS = re.compile(r"statist|_bn(_|$)|rollout|collect|sampl|explor|(^|_)act(_|$)|generat")
"""Functions that gather statistics or experience: the model runs there as it trains."""


def _switches_by_a_flag(method: FunctionInfo) -> bool:
    """Tell whether a method switches models by other means than `eval()` and `train()`."""
    if any(call.args or call.keywords for call in method.calls_of("train")):
        return True
    return any(name != "eval" and _SWITCHES.search(name) for name in method.callees)


def sibling_sets_eval(event: Event, context: FileContext) -> bool:
    """Tell whether another method of the class calls eval() itself before it runs the same model.

    Not one that comes first, `fit()`, which leaves the model in that mode for all the others.
    """
    for other in _beside(event, context):
        for snapshot in other.snapshots:
            facts = [f for f in snapshot.modes if f.mode == EVAL and f.site is not None]
            if (
                in_eval(snapshot)
                and facts  # a mode that was only asked for has none
                and all(any(holds(method, f.site) for method in _steps_of(other.root, context)) for f in facts)
                and not _READIES.match(other.root.name)
            ):
                return True
    return False


def _steps_of(method: FunctionInfo, context: FileContext) -> Iterator[FunctionInfo]:
    """Yield a method and the steps of its own, by their names, that it calls of its object.

    Others are for whoever uses that: `eval_mode()` may come before any method.
    """
    yield method
    for call in method.calls:
        name = attribute_of(call.func, method.self_name or "")
        step = context.project.method(method.cls, name) if name is not None and method.cls is not None else None
        if step is not None and step.name.startswith(("_", "on_")) and not _READIES.match(step.name):
            yield step


_READIES = re.compile(r"^_?(fit|prepare|setup|set_up|load|build|compile|calibrate|init\w*)(_|$)")
"""Methods that ready an object for its others."""


def sibling_switches_autograd_off(event: Event, context: FileContext) -> bool:
    """Tell whether another method of the class switches autograd off itself before it runs the same model."""
    return any(
        snapshot.grad.state == OFF and holds(other.root, snapshot.grad.site)
        for other in _beside(event, context)
        for snapshot in other.snapshots
    )


def _beside(event: Event, context: FileContext) -> Iterator[Event]:
    """Yield the forwards of the same model, without training, that begin in other methods of the class.

    None for a module, as whoever runs the whole sets the mode of its parts, but for one that is never run and trains.
    """
    cls = event.root.cls
    if cls is None:
        return
    trainer = event.model_trained and context.project.method(cls, "forward") is None
    if context.classes.is_module(cls) and not trainer:
        return
    for other in context.flow.events:
        root = other.root
        if root.cls is cls and root is not event.root and not other.training and _runs_the_same(event, other):
            yield other


def _runs_the_same(event: Event, other: Event) -> bool:
    """Tell whether two forwards are of one model, or of what each has one place make where it is not there yet."""
    if other.key.oid == event.key.oid:
        return True
    mine, others = event.snapshots[0].obj.born, other.snapshots[0].obj.born
    return mine is not None and mine == others and event.text == other.text
