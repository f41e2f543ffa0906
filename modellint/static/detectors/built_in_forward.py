"""A module with parameters, or one that depends on the mode, is constructed inside forward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.static.classes import YES
from modellint.static.context import FileContext, Finding
from modellint.static.guards import path_to, tied_to_mode
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import last_name


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report constructor calls in forwards. The detector's option `parametrised` lists classes with weights."""
    parametrised = set(rule.rule.detector_options["parametrised"])
    for cls in context.module_classes():
        for method in cls.methods.values():
            if method.name != "forward" and not method.name.startswith("forward_"):
                continue
            for call in method.calls:
                found = _built(context, method, call, parametrised)
                if found and not _in_eval(method, call) and not _kept(method, call) and not tied_to_mode(method, call):
                    yield Finding(context.site(call), {"built": ast.unparse(call.func), "why": found})


def _in_eval(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether `nn.Dropout(p).eval()` is what is written: it does nothing, in any mode."""
    return any(
        isinstance(node, ast.Attribute) and node.value is call and node.attr == "eval" for node in path_to(method, call)
    )


def _built(context: FileContext, method: FunctionInfo, call: ast.Call, parametrised: set[str]) -> str:
    """Return why the object that `call` builds does not belong into a forward, or an empty text."""
    name = last_name(call.func)
    if not name or not name[:1].isupper():
        return ""
    symbol = context.project.resolve_in(method, call.func)
    if symbol is None:
        return ""
    if isinstance(symbol.target, ClassInfo):
        if context.classes.is_module(symbol.target):
            if context.classes.dependence(symbol.target).answer == YES:
                return "is in training mode every time"
            if _has_weights(context, symbol.target, parametrised, set()):
                return "has new random weights every time"
        return ""
    if context.classes.of_external(symbol.dotted, call).answer == YES:
        return "is in training mode every time, whatever eval() says"
    return "has new random weights every time" if symbol.dotted in parametrised else ""


def _has_weights(context: FileContext, cls: ClassInfo, parametrised: set[str], seen: set[ClassInfo]) -> bool:
    """Tell whether a module of the project builds a layer with weights, itself or in a part."""
    seen.add(cls)
    init = context.project.method(cls, "__init__")
    for call in init.calls if init is not None else ():
        symbol = context.project.resolve_in(init, call.func) if init is not None else None
        if symbol is None:
            continue
        if isinstance(symbol.target, ClassInfo):
            if symbol.target not in seen and _has_weights(context, symbol.target, parametrised, seen):
                return True
        elif symbol.dotted in parametrised:
            return True
    return False


def _kept(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what `call` builds is stored in `self`, as lazily built modules are."""
    for node in path_to(method, call):
        if isinstance(node, ast.Assign) and any(
            isinstance(inner, ast.Attribute) for target in node.targets for inner in ast.walk(target)
        ):
            return True
        if (
            isinstance(node, ast.Call)
            and node is not call
            and last_name(node) in ("setattr", "add_module", "register_module")
        ):
            return True
    return any(last_name(c) in ("setattr", "add_module", "register_module") for c in method.calls)
