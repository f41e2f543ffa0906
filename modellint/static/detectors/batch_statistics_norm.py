"""Batch norm without running statistics: every output depends on the batch, in evaluation mode too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.naming import is_test_module, snake
from modellint.static.origins import Origin, is_parameter
from modellint.static.project import FunctionInfo
from modellint.static.project.names import last_name

_TRAINS_ONLY = re.compile(r"Discriminator|Critic|Loss")


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report constructors of the detector's option `layers` (qualified names) with `track_running_stats=False`.

    The argument's place among the positional ones is the option `position`.
    """
    layers = set(rule.rule.detector_options["layers"])
    position: int = rule.rule.detector_options["position"]
    if is_test_module(context.module) or _learns_to_learn(context):
        return
    for scope in context.scopes:
        if scope.cls is not None and _TRAINS_ONLY.search(scope.cls.name):
            continue
        for call in scope.calls:
            if not _is_given(call, position):  # equivalent: saves the look
                continue
            first = 0
            layer = context.qualified(scope, call.func)
            if layer in ("functools.partial", "partial") and call.args:
                layer, first = context.qualified(scope, call.args[0]), 1
            elif last_name(call.func) == "__init__":
                layer = next((base for base in _bases(context, scope, call) if base in layers), None)
            if layer is not None and layer in layers and _is_off(context, scope, call, position + first):
                yield Finding(context.site(call), {"layer": layer.rsplit(".", 1)[-1]})


_META = re.compile(r"^(torchmeta|higher|learn2learn|functorch)(\.|$)|^torch\.func(\.|$)")
_META_NAMES = re.compile(r"(^|_)(maml|anil|reptile|meta_?learn\w*|few_?shot)(_|$)")


def _learns_to_learn(context: FileContext) -> bool:
    """Tell whether a file learns to learn, by what it imports or by a name: statistics of other tasks are wrong."""
    path = context.module.path
    names = (path.stem, path.parent.name, *(cls.name for cls in context.module.classes))
    if any(_META_NAMES.search(snake(name)) for name in names):
        return True
    return any(_META.search(made.module) for made in context.module.imports.values())


def _bases(context: FileContext, scope: FunctionInfo, call: ast.Call) -> list[str]:
    """Return the outside bases of the class in whose method `super().__init__(...)` is called."""
    if scope.cls is None or not (isinstance(call.func, ast.Attribute) and last_name(call.func.value) == "super"):
        return []
    return context.project.ancestry(scope.cls)[1]


def _is_given(call: ast.Call, position: int) -> bool:
    """Tell whether a call passes the argument, or may do so."""
    return len(call.args) > position or any(k.arg in (None, "track_running_stats") for k in call.keywords)


def _is_off(context: FileContext, scope: FunctionInfo, call: ast.Call, position: int) -> bool:
    """Tell whether a call says False, as written, in a variable or in options; what a parameter says, callers know."""
    for view in context.resolver.views(Origin(call, scope)):
        given = view.argument("track_running_stats", position)
        if given is not None and not is_parameter(given):
            return context.resolver.constant(given) == (False,)
    return False
