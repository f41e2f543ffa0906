"""Random numbers in a forward that does not ask for the mode."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Severity
from modellint.static.attributes import stored
from modellint.static.context import FileContext, Finding
from modellint.static.detectors.forward_draws import (
    classes_that_answer,
    guarded,
    is_dropout,
    is_noise_of_weights,
    run_by_forward,
)
from modellint.static.detectors.latent_draws import draws_latent
from modellint.static.detectors.meant_draws import is_meant, regularises
from modellint.static.guards import assignments, own
from modellint.static.method_for_flag import meant_for_training
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import last_name


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report draws in forwards, and in the methods that they call, that no guard ties to the mode or to an argument.

    The detector's options: `functions` are qualified names, `methods` the last names of methods of a tensor or a
    distribution that draw, `modules` qualified names (with `*`) of modules that draw in evaluation mode as well.
    In a module whose job is to draw, those alone that `self.train` guards, which is always true.
    What drops something by chance, or begins a recurrent state, is reported as the rule says; whether other noise is
    for training alone only the author knows, and it is an info.
    """
    functions: list[str] = rule.rule.detector_options["functions"]
    methods = set(rule.rule.detector_options["methods"])
    answering = set(classes_that_answer(context))
    for cls in context.module_classes():
        parts = _parts_that_draw(context, cls, rule.rule.detector_options.get("modules", ()))
        for method in run_by_forward(cls):
            for call in method.calls:
                what = _draws(context, method, call, functions, methods) or _runs_part(method, call, parts)
                if is_noise_of_weights(cls, method, call):
                    continue
                if is_dropout(cls.name, call):
                    continue  # dropout that is always on has a rule of its own
                if what and not guarded(method, call) and not _is_placeholder(method, call):
                    details = {"draw": what, "class": cls.name}
                    if meant_for_training(context, method, call):
                        message = f"`{method.self_name}.train` is a method, and always true: {what} in the forward of "
                        message += f"{cls.name} draws in evaluation mode too"
                        yield Finding(context.site(call), details, Confidence.CERTAIN, message=message)
                        continue
                    if cls not in answering:
                        continue
                    meant = draws_latent(method, call) or is_meant(cls, method, call)
                    sure = Confidence.POSSIBLE if meant else Confidence.LIKELY
                    severity = None if regularises(method, call) or _runs_part(method, call, parts) else Severity.INFO
                    yield Finding(context.site(call), details, sure, severity)


def _is_placeholder(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a forward hands back or asserts what was drawn as it is: it stands for a model yet to be written."""
    if method.name != "forward" or any(isinstance(argument, ast.Name) for argument in call.args):
        return False
    drawn = {name for name, value in assignments(method) if value is call}
    if any(isinstance(node.test, ast.Name) and node.test.id in drawn for node in own(method, ast.Assert)):
        return True
    returned = [node.value for node in own(method, ast.Return) if node.value is not None]
    return any(
        part is call or (isinstance(part, ast.Name) and part.id in drawn)
        for value in returned
        for part in (value.elts if isinstance(value, ast.Tuple) else [value])
    )


def _parts_that_draw(context: FileContext, cls: ClassInfo, modules: Sequence[str]) -> Mapping[str, str]:
    """Return the attributes that hold a module that draws in every mode, also in a sequence, with its name.

    What an attribute holds only sometimes (`nn.Identity()` in another branch) is left alone.
    """
    init = cls.methods.get("__init__")
    if init is None:
        return {}
    parts: dict[str, str] = {}
    held = list(stored(init))
    for name, value in held:
        if [other for other, _ in held].count(name) == 1 and isinstance(value, ast.Call):
            inside = (value, *value.args) if last_name(value) in _IN_TURN else (value,)
            made = (call for call in inside if isinstance(call, ast.Call))
            drawing = [call for call in made if _is_one_of(context.qualified(init, call.func), modules)]
            if drawing:
                parts[name] = str(last_name(drawing[0]))
    return parts


_IN_TURN = frozenset({"Sequential", "Compose"})


def _is_one_of(name: str | None, patterns: Sequence[str]) -> bool:
    return name is not None and any(fnmatchcase(name, pattern) for pattern in patterns)


def _runs_part(method: FunctionInfo, call: ast.Call, parts: Mapping[str, str]) -> str:
    """Return how a part that draws is run, or an empty text."""
    func = call.func
    owned = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == method.self_name
    return f"{parts[func.attr]}()" if owned and func.attr in parts else ""  # type: ignore[attr-defined]


def _draws(
    context: FileContext, method: FunctionInfo, call: ast.Call, functions: Container[str], methods: set[str]
) -> str:
    """Return how a random draw is written, or an empty text."""
    if any(keyword.arg == "generator" for keyword in call.keywords):
        return ""  # with a state of its own
    name = last_name(call.func)
    qualified = context.qualified(method, call.func)
    if qualified is not None:
        return f"{ast.unparse(call.func)}()" if qualified in functions else ""
    if name in methods and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        if isinstance(owner, ast.Attribute) and owner.attr in ("data", "weight", "bias"):
            return ""
        if isinstance(owner, ast.Name) and owner.id == method.self_name:
            return ""  # a method of the module's own, which is looked into
        return f"{name}()"
    return ""
