"""Is a model switched to evaluation only now and then? On one kind of machine, or where an option is given.

`if args.cuda: net.cuda().eval()`; `if val_loader is not None: net.eval()`, in the training that leaves the model so.
"""

from __future__ import annotations

import ast
import re

from modellint.static.context import FileContext
from modellint.static.flow.values import EVAL, TRAIN, Modes, Site, kinds
from modellint.static.guards import conditions
from modellint.static.naming import snake
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import is_none, parameters
from modellint.static.project.trees import walk
from modellint.static.sites import calls_at

_ABOUT_MACHINES = re.compile(
    r"^(is|use|has|no|n|num|multi|fp_?16|half|bf_?16|amp|cuda|cpu|mps|xpu|gpus?|ngpus?|devices?|type|count|available|"
    r"data|parallel|distributed|ddp|world|size|local|rank|torch|args|opts?|self|cfg|config|hparams|params|flags|str|len|_)+$"
)
_NAMES_ONE = re.compile(r"cuda|cpu|mps|xpu|gpu|device|half|fp_?16|bf_?16|amp|parallel|distributed|ddp|world|rank")


def seldom_switched(modes: Modes, context: FileContext) -> bool:
    """Tell whether a model is in training mode unless a condition on the machine, or an option, holds."""
    if kinds(modes) != {TRAIN, EVAL}:
        return False
    trained = any(fact.by_train for fact in modes if fact.mode == TRAIN)
    return all(_is_seldom_reached(fact.site, trained, context) for fact in modes if fact.mode == EVAL)


def _is_seldom_reached(site: Site | None, trained: bool, context: FileContext) -> bool:
    """Tell whether the call at `site` stands under a condition on the machine or, after training, on an option."""
    for scope, call in calls_at(context, site):
        tests = list(conditions(scope, call))
        if not tests:
            return False
        for_options = trained and all(holds and _asks_for_option(scope, test) for test, holds in tests)
        return for_options or all(_is_about_machines(test) for test, _ in tests)
    return False


def _asks_for_option(function: FunctionInfo, test: ast.expr) -> bool:
    """Tell whether a condition is that data to validate on is given, which is None by default."""
    if isinstance(test, ast.Compare):
        if not (isinstance(test.ops[0], ast.IsNot) and isinstance(test.comparators[0], ast.Constant)):
            return False
        test = test.left
    left_out = {argument.arg for argument, default in parameters(function) if is_none(default)}
    return isinstance(test, ast.Name) and test.id in left_out


def _is_about_machines(test: ast.expr) -> bool:
    words = []
    for node in walk(test):
        if isinstance(node, ast.Name):
            words.append(node.id)
        elif isinstance(node, ast.Attribute):
            words.append(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.append(node.value)
    names = [snake(word) for word in words]
    return any(map(_NAMES_ONE.search, names)) and all(map(_ABOUT_MACHINES.match, names))
