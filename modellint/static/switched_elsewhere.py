"""A forward that records autograd: who else, where the flow does not lead, may switch that off for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from modellint.static.classes import WITHOUT_LAYERS
from modellint.static.context import FileContext
from modellint.static.family import kept_as, runs_without_gradients, under_switch
from modellint.static.flow.events import Event, Snapshot
from modellint.static.flow.vocabulary import GRAD_SWITCHES, MODEL_NAME, OTHER_FRAMEWORKS
from modellint.static.guards import own, values_bound
from modellint.static.handed_over import is_handed_over
from modellint.static.left_open import is_held_by_something
from modellint.static.looked_at import reads_graphs
from modellint.static.naming import is_test_file
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.callers import MAX_FILES, files_calling, scopes_mentioning
from modellint.static.project.facts import arguments_given, is_left_open, parameters
from modellint.static.project.names import arguments_of, is_named, last_name
from modellint.static.project.trees import walk
from modellint.static.sites import calls_at


def left_to_others(event: Event, context: FileContext) -> bool:
    """Tell whether a switch stands where the flow does not lead: in what is run, or around what is called elsewhere."""
    if _may_switch_itself(event, context) or _is_entered(event):
        return True
    if all(is_held_by_something(event, snapshot) for snapshot in event.snapshots):
        return True
    if event.root_trains:
        return False  # nobody calls what trains without gradients
    return (
        _is_handed_to_others(event.root, context)
        or runs_without_gradients(event.root, context.project)
        or _is_asked_by_a_library(event.root, context)
        or _called_without_gradients(event, context)
        or _answers_for_an_interface(event, context)
        or reads_graphs(event.function.module)
    )


def _is_handed_to_others(root: FunctionInfo, context: FileContext) -> bool:
    """Tell whether somebody out of sight calls a function, and may switch autograd off around that.

    Not a method that only gets another name, by which nothing in the project hands it on or calls it under a switch.
    """
    project, mine = context.project, context.module.path
    if not is_handed_over(root, project):
        return False
    names = kept_as(root, project) if root.cls is not None else set[str]()
    bases = project.ancestry(root.cls)[1] if root.cls is not None else []
    if not names or not _PLAIN_BASES.issuperset(base.partition(".")[0] for base in bases):
        return True
    return any(
        _is_handed_on_or_switched(scope, name)
        for name in names
        for scope in scopes_mentioning(project, f".{name}", mine, MAX_FILES)
    )


def _answers_for_an_interface(event: Event, context: FileContext) -> bool:
    """Tell whether an object is called through what a base of the project leaves open, where another file switches
    autograd off: whoever holds such an object calls it by no name that could be looked for."""
    root, project, mine = event.root, context.project, context.module.path
    if root.cls is None or root.name != "__call__":
        return False
    declared = (base.methods.get(root.name) for base in project.ancestry(root.cls)[0])
    if not any(method is not None and is_left_open(method) for method in declared):
        return False
    switching = (path for word in ("no_grad", "inference_mode") for path in project.mentioning(word, mine, "calls"))
    return any(path != mine and not is_test_file(path) for path in switching)


def _is_handed_on_or_switched(scope: FunctionInfo, name: str) -> bool:
    calls = scope.calls_of(name)
    called = {id(call.func) for call in calls}
    read = (node for node in own(scope, ast.Attribute) if node.attr == name and isinstance(node.ctx, ast.Load))
    return any(id(node) not in called for node in read) or any(under_switch(scope, call) for call in calls)


_PLAIN_BASES = frozenset({"torch", "multiprocessing", "threading", "abc", "object", "typing"})
"""Where bases come from that know no attribute by the names that a class of the project gives."""


def _is_entered(event: Event) -> bool:
    """Tell whether objects of the class are entered, and enter a switch of their own then."""
    enter = event.root.cls.methods.get("__enter__") if event.root.cls is not None else None
    return enter is not None and not {"__enter__", "enter_context", "set_grad_enabled"}.isdisjoint(enter.callees)


def _called_without_gradients(event: Event, context: FileContext) -> bool:
    """Tell whether all calls of a function stand under no_grad, where the flow does not lead from them to the event.

    Of a method those by its name, on objects that the flow does not know. A call in a method that is itself called so
    only counts, too: a model is asked by a task, the task by a runner.
    """
    is_told = event.root.cls is None or event.root.name not in _OF_CONTAINERS
    part = None if "eval" in event.root.callees else event.root.cls  # what readies itself is no mere part
    asked = {text: holds for (_, text), holds in event.key.path}
    return is_told and not event.root.is_body and _all_under_switch(event.root, context, part, asked)


_OF_CONTAINERS = frozenset("add append extend get insert pop put push update".split())
"""Methods that sets, lists, queues and meters have, too: a call by that name says nothing of a model."""

_DEEPEST = 2


def _all_under_switch(
    method: FunctionInfo, context: FileContext, part: ClassInfo | None, asked: Mapping[str, bool], depth: int = 0
) -> bool:
    """Tell whether the calls of `method`, or of those that call it, stand under a switch, or in the forward of another
    module than `part`: its parts run as whoever runs the whole wants it.

    Those that count give no parameter in `asked` the other truth: `run(net, data, train=True)` where `train` is false.
    Where all of them do, none in sight leads there.
    """
    every = [
        (scope, call)
        for scope, call in _calls_by_name(method, context)
        if scope.name != method.name or scope.cls is None or not context.classes.is_module(scope.cls)
    ]
    calls = [
        (scope, call)
        for scope, call in every
        if not any(_is_told_otherwise(value, asked.get(name)) for name, value in arguments_given(method, call).items())
    ]
    if every and not calls:
        return True
    recording = [scope for scope, call in calls if not under_switch(scope, call)]
    if len(recording) < len(calls) and _has_a_twin(method, context):
        return True  # the other calls ask the models of another framework
    left = [scope for scope in recording if not _is_forward_of_another(scope, part, context)]
    if depth == _DEEPEST:
        return bool(calls) and not left
    return bool(calls) and all(_all_under_switch(scope, context, part, {}, depth + 1) for scope in left)


def _is_told_otherwise(value: ast.expr, truth: bool | None) -> bool:
    """Tell whether a constant is given that is not `truth`, if there is one."""
    return truth is not None and isinstance(value, ast.Constant) and bool(value.value) is not truth


def _is_forward_of_another(scope: FunctionInfo, part: ClassInfo | None, context: FileContext) -> bool:
    """Tell whether this is the forward of another module than `part`, which is a module itself."""
    if scope.name != "forward" or scope.cls is None or part is None or scope.cls is part:
        return False
    return context.classes.is_module(scope.cls) and context.classes.is_module(part)


def _has_a_twin(method: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a class for another framework's models has a method of that name, which is called likewise."""
    project, mine = context.project, context.module.path
    paths = project.mentioning(f"def {method.name}(", mine, "calls") if method.cls is not None else ()
    modules = (project.load(path, mine, "calls") for path in paths[:MAX_FILES])
    return any(
        not OTHER_FRAMEWORKS.isdisjoint(imported.module.split(".")[0] for imported in module.imports.values())
        for module in modules
        if module is not None and module is not method.module
    )


def _calls_by_name(method: FunctionInfo, context: FileContext) -> list[tuple[FunctionInfo, ast.Call]]:
    """Return the calls of anything's method of that name; of a function, its own.

    Not those of another class's own method, which objects of its own kind are asked for, nor by `super()`.
    """
    project, mine, name = context.project, context.module.path, method.name
    word = f".{name}(" if method.cls is not None else f"{name}("
    return [
        (scope, call)
        for scope in scopes_mentioning(project, word, mine, MAX_FILES)
        for call in scope.calls_of(name)
        if _may_be_given(method, call)
        if (
            _calls_it(project, scope, call, method)
            if method.cls is None
            else isinstance(call.func, ast.Attribute)
            and last_name(call.func.value) != "super"
            and not _is_of_another(call.func, scope, method, project)
        )
    ]


def _calls_it(project: Project, scope: FunctionInfo, call: ast.Call, function: FunctionInfo) -> bool:
    """Tell whether a call by the name of a function calls it."""
    symbol = project.resolve_in(scope, call.func)
    return symbol is not None and symbol.target is function


def is_called_recording(event: Event, context: FileContext) -> bool:
    """Tell whether autograd is on where others call a function, which gives no result away with its graph."""
    if event.goes_on_with_graph or (event.kept and "detached" not in event.uses):
        return False
    return _runs_amid_training(event.root, context) or _is_used_without_a_switch(event, context)


def _runs_amid_training(root: FunctionInfo, context: FileContext, depth: int = 0) -> bool:
    """Tell whether all calls of a method, by its name, stand where the caller trains, or in its own callers, and under
    no switch: autograd is on there.

    Calls by a name that sets and lists have, too, say nothing.
    """
    if root.cls is None or root.name in _OF_CONTAINERS or depth > _DEEPEST:
        return False
    calls = _calls_by_name(root, context)
    return bool(calls) and all(
        not under_switch(scope, call)
        and scope is not root
        and (any(map(_TRAINING_CALLS.match, scope.callees)) or _runs_amid_training(scope, context, depth + 1))
        for scope, call in calls
    )


_TRAINING_CALLS = re.compile(r"^(backward|zero_grad|_?train(_one)?_(iter\w*|step\w*|epoch\w*|batch\w*|model|loop))$")
"""What a function calls that trains: `train()` may be of a module, whose mode it sets."""


def _is_used_without_a_switch(event: Event, context: FileContext) -> bool:
    """Tell whether another file of the project uses a function, and the project trains by hand and has no switch.

    Whoever wrote all of it never switches autograd off, whatever is run. Who detaches what comes of it met its graph,
    be it for callers out of sight.
    """
    project, mine = context.project, context.module.path

    def has(word: str) -> bool:
        return any(not is_test_file(path) for path in project.mentioning(word, mine, "calls"))

    by_others = event.root.module is not event.function.module
    met = "detached" in event.uses
    if not (by_others or met) and all(is_test_file(path) for path in files_calling(project, event.root, "calls")[0]):
        return False
    return has(".backward(") and not any(map(has, _ANY_SWITCH))


_ANY_SWITCH = (
    *("no_grad", "inference_mode", "set_grad_enabled", "GradMode", "volatile", "requires_grad_(False)"),
    *("lightning", "ignite", "fastai", "skorch", "accelerate", "deepspeed"),
)
"""What switches autograd off, or may do so for what it calls."""


def _may_be_given(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a call passes what a function takes, by number and by names."""
    if function.node is None or any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    taken = function.node.args
    in_order = [parameter.arg for parameter in taken.posonlyargs + taken.args][function.self_name is not None :]
    given = {*in_order[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
    fits = taken.vararg is not None or len(call.args) <= len(in_order)
    known = taken.kwarg is not None or given <= {*in_order, *(parameter.arg for parameter in taken.kwonlyargs)}
    needed = in_order[: len(in_order) - len(taken.defaults)]
    return None in given or (fits and known and given.issuperset(needed))


def _is_of_another(func: ast.expr, scope: FunctionInfo, method: FunctionInfo, project: Project) -> bool:
    """Tell whether `self.name`, or `net.name` of a `net` that is made there, is another class's own method.

    Of a base class `self` may be an object of the heir that has the method.
    """
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return False
    if func.value.id == scope.self_name:
        bases = project.ancestry(method.cls)[0] if method.cls is not None else ()
        classes = [] if scope.cls in bases else [scope.cls]
    else:
        makers = [v.func for v in values_bound(scope, func.value.id) if isinstance(v, ast.Call)]
        symbols = [project.resolve_in(scope, m.value if isinstance(m, ast.Attribute) else m) for m in makers]
        classes = [s.target for s in symbols if s is not None and isinstance(s.target, ClassInfo)]
    return any(cls is not None and cls is not method.cls and method.name in cls.methods for cls in classes)


def _may_switch_itself(event: Event, context: FileContext) -> bool:
    """Tell whether a method of that name in the project, perhaps the model's, switches gradients or runs nothing."""
    name = event.key.detail
    if not name:  # equivalent: only saves the look
        return False
    if name in _OF_ESTIMATORS:
        return True
    classes = {s.obj.cls for s in event.snapshots}
    does_it_all = _DOES_IT_ALL.search(name) is not None and classes <= _ANYTHING
    if does_it_all and _HUB in classes:
        return True
    if name in _CODES and all(_is_of_an_unknown_library(snapshot, context) for snapshot in event.snapshots):
        return True
    if not classes <= _ANYTHING | {None}:
        return False
    project, mine = context.project, context.module.path
    runs = []
    for path in project.mentioning(f"def {name}", mine, "calls")[:MAX_FILES]:
        module = project.load(path, mine, "calls")
        for function in module.functions if module is not None else ():
            if function.name == name and function.node is not None and _is_method(function):
                asked = (function, *_own_methods_called(function), *_functions_answering(function, project))
                if any(map(_switches_gradients, asked)):
                    return True
                if function.cls is not None and context.classes.is_module(function.cls):
                    computes = _asks_a_part(function) or _runs_what_it_is_given(function)
                    computes = computes or any(map(is_left_open, _own_methods_called(function)))
                    runs.append(computes or context.classes.runs_forward(function))
    if does_it_all and not runs:
        return True  # what is saved whole is of a class of the project, or of any library
    return bool(runs) and not any(runs)  # it draws numbers, say, and runs no layer


def _is_method(function: FunctionInfo) -> bool:
    """Tell whether a function is a method, or takes `self` to be put into a class."""
    first = next((parameter.arg for parameter, _ in parameters(function)), "")
    return function.cls is not None or first == "self"


def _is_of_an_unknown_library(snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether an object is of a class out of sight, of no library whose facts are known, or was made by one."""
    if snapshot.obj.cls is not None:
        names = [snapshot.obj.cls] if isinstance(snapshot.obj.cls, str) else []
    else:
        calls = calls_at(context, snapshot.obj.born)
        symbols = [context.project.resolve_in(scope, call.func) for scope, call in calls]
        names = [symbol.dotted for symbol in symbols if symbol is not None and symbol.target is None]
    return bool(names) and not any(map(context.knowledge.is_library, names))


def _switches_gradients(function: FunctionInfo) -> bool:
    decorators = function.node.decorator_list if function.node is not None else ()
    return not GRAD_SWITCHES.isdisjoint(function.words.union(map(last_name, decorators)))


def _own_methods_called(method: FunctionInfo) -> list[FunctionInfo]:
    """Return the methods of the class itself that one of them calls, on whatever object."""
    methods = method.cls.methods if method.cls is not None else {}
    return [methods[name] for name in methods.keys() & method.callees]


def _functions_answering(method: FunctionInfo, project: Project) -> list[FunctionInfo]:
    """Return the functions of the project whose answer a method gives as its own: `return validate(self.net)`."""
    calls = (node.value for node in own(method, ast.Return) if isinstance(node.value, ast.Call))
    handed = (call for call in calls if _is_handed_a_part(call, method.self_name or ""))
    symbols = (project.resolve_in(method, call.func) for call in handed)
    return [s.target for s in symbols if s is not None and isinstance(s.target, FunctionInfo)]


def _is_handed_a_part(call: ast.Call, me: str) -> bool:
    """Tell whether a call is given an object, or something that it keeps, as it is: nothing was computed before it."""
    given = arguments_of(call)
    kept = any(is_named(value, me) or attribute_of(value, me) is not None for value in given)
    return kept and not any(isinstance(node, ast.Call) for value in given for node in walk(value))


def _asks_a_part(method: FunctionInfo) -> bool:
    """Tell whether a method of a model has parts of it compute: `self.scorer.score(x)`, `self.items().embed(x)`."""
    for call in method.calls:
        func = call.func
        if isinstance(func, ast.Attribute) and _COMPUTES.search(func.attr) and not isinstance(func.value, ast.Name):
            return True
    return False


def _runs_what_it_is_given(method: FunctionInfo) -> bool:
    """Tell whether a method of a model runs a part that it is given by a name of models: `embed(model, x)`."""
    given = {parameter.arg for parameter, _ in parameters(method) if MODEL_NAME.match(parameter.arg)}
    return any(isinstance(call.func, ast.Name) and call.func.id in given for call in method.calls)


_COMPUTES = re.compile(r"^(score|embed|encode|decode)(_|$)")


def _is_asked_by_a_library(root: FunctionInfo, context: FileContext) -> bool:
    """Tell whether a method is a step of somebody's loop, whose base class is in a library that nothing is known of."""
    if root.cls is None or not _STEP_OF_A_LOOP.search(root.name):
        return False
    outside = context.project.ancestry(root.cls)[1]
    return any(not context.knowledge.is_library(base) and base not in WITHOUT_LAYERS for base in outside)


_STEP_OF_A_LOOP = re.compile(r"(^|_)(step|batch|epoch|iter|iteration)$|^on_")


_DOES_IT_ALL = re.compile(
    r"^(score|generate|sample|translate|transcribe|recogni[sz]e|synthesi[sz]e|predict|tts|separate)(_|$)"
)
"""Methods that go the whole way from what a user has to what a user wants."""

_OF_ESTIMATORS = frozenset({"predict_proba", "predict_log_proba"})
"""Methods of scikit-learn's estimators, which know no graph, and of what wraps a module to look like one."""

_CODES = frozenset({"encode", "decode"})
"""Methods by which an interface of a library turns text into numbers, and back, or by which it computes features."""

_HUB = "torch.hub.load"
_ANYTHING = frozenset({_HUB, "torch.load"})
"""What gives an object of any class, a forecaster or a pipeline around a model too."""
