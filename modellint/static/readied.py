"""What methods of the project by the name of a call see to: the mode of their model, or that of the parts they run."""

from __future__ import annotations

import ast
import math
import re

from modellint.static.attributes import calls_through_self, readied_attributes, stored
from modellint.static.context import FileContext
from modellint.static.flow.events import Event, Snapshot
from modellint.static.guards import conditions, own, runs_in_eval_only
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo

_MAX_FILES = 12


def readies_itself(event: Event, context: FileContext) -> bool:
    """Tell whether the project has a method of that name that calls eval(), of a class that may be the model's."""
    return any("eval" in method.callees for method in _methods_named(event, context))


def runs_readied_parts(event: Event, context: FileContext) -> bool:
    """Tell whether all methods of that name run nothing but parts that their class keeps in evaluation mode.

    `decode_first_stage` of a diffusion model runs an autoencoder, which was put into that mode as it was built.
    """
    methods = _methods_named(event, context)
    return bool(methods) and all(_runs_readied(method, context) for method in methods)


def readies_in_forward(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether the forward of a model puts all parts that it runs into evaluation mode: `self.generator.eval()`."""
    cls = snapshot.obj.cls
    forward = context.project.method(cls, "forward") if isinstance(cls, ClassInfo) else None
    if forward is None or event.key.detail not in ("", "forward", "__call__"):
        return False
    run = context.classes.parts_run(forward)
    return bool(run) and run <= readied_attributes(forward)


def readies_parts_run(event: Event, snapshot: Snapshot, context: FileContext) -> bool:
    """Tell whether eval() is called, before a forward, of all parts that this runs: `self.model.network.eval()`.

    Of a class out of sight one part will be the one that matters.
    """
    part = re.compile(rf"{re.escape(event.text)}\.(\w+)$")
    before = (call for call in event.function.calls_of("eval") if call.lineno < event.site.row)
    owners = (ast.unparse(call.func.value) for call in before if isinstance(call.func, ast.Attribute))
    readied = {match[1] for owner in owners if (match := part.match(owner)) is not None}
    cls = snapshot.obj.cls
    forward = context.project.method(cls, "forward") if isinstance(cls, ClassInfo) else None
    if not readied or not isinstance(cls, ClassInfo) or forward is None:
        return bool(readied) and cls is None
    if any("training" in method.words for method in cls.methods.values()):
        return False  # the whole is asked for its mode as well
    run = context.classes.parts_run(forward)
    return bool(run) and run <= readied


def _methods_named(event: Event, context: FileContext) -> list[FunctionInfo]:
    """Return the methods of the project that have the name of the one which an event is a call of."""
    name, mine = event.key.detail, context.module.path
    if not name:  # equivalent: only saves the look
        return []
    paths = context.project.mentioning(f"def {name}", mine, "calls")[:_MAX_FILES]
    modules = [context.project.load(path, mine, "calls") for path in paths]
    functions = [function for module in modules if module is not None for function in module.functions]
    return [function for function in functions if function.name == name and function.cls is not None]


def _runs_readied(method: FunctionInfo, context: FileContext) -> bool:
    assert method.cls is not None
    run = {attribute_of(_owner(call.func), method.self_name or "") for call in method.calls} - {None}
    if not run:
        return False
    family = context.project.ancestry(method.cls)[0]
    switching = [other for cls in family for other in cls.methods.values() if "eval" in other.callees]
    kept = (pair for other in switching for pair in stored(other))
    return run <= {name for name, value in kept if ast.unparse(value).endswith(".eval()")}


def _owner(func: ast.expr) -> ast.expr:
    """Return what is called, or whose method is: `self.net` of `self.net`, of `self.net.decode`, of `self.net.a.b`."""
    while isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute):
        func = func.value
    return func


def is_made_for_this(event: Event) -> bool:
    """Tell whether a method always makes the part that it runs, itself or by a method that it calls for it.

    Nobody outside can have set the mode of what is not there before: `self.load()`, `self.model(x)`.
    """
    function, row = event.function, event.site.row
    me, cls = function.self_name, function.cls
    if me is None or cls is None or function.name == "__init__":
        return False
    part = event.text.removeprefix(f"{me}.").partition(".")[0]
    before = [call for call in function.calls if call.lineno < row and not any(conditions(function, call))]
    steps = [cls.methods.get(attribute_of(call.func, me) or "") for call in before]
    return _makes(function, part, row) or any(step is not None and _makes(step, part) for step in steps)


def is_run_in_eval_alone(event: Event, context: FileContext) -> bool:
    """Tell whether the class calls a method only where its object is in evaluation mode, and so are its parts.

    `return self.step(x) if self.training else self.predict(x)`
    """
    root = event.root
    family = context.project.ancestry(root.cls)[0] if root.cls is not None else []
    calls = list(calls_through_self(family, root.name))
    return bool(calls) and all(runs_in_eval_only(method, call) for method, call in calls)


def _makes(method: FunctionInfo, part: str, before: float = math.inf) -> bool:
    """Tell whether a method builds `self.part` under no condition, before the row `before` of its file.

    `self.part = self.part.to(device)` builds nothing.
    """
    mine = f"{method.self_name}.{part}"
    return any(
        isinstance(node.value, ast.Call)
        and node.lineno < before
        and [ast.unparse(target) for target in node.targets] == [mine]
        and mine not in ast.unparse(node.value)
        and not any(conditions(method, node))
        for node in own(method, ast.Assign)
    )
