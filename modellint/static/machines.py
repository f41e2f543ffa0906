"""Is a model switched to evaluation only where the machine is of one kind? `if args.cuda: net.cuda().eval()`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from modellint.static.flow.frames import call_at
from modellint.static.flow.values import EVAL, TRAIN, Modes, Site, kinds
from modellint.static.guards import conditions
from modellint.static.naming import snake
from modellint.static.project import ModuleInfo
from modellint.static.project.trees import walk

_ABOUT_MACHINES = re.compile(
    r"^(is|use|has|no|n|num|multi|fp_?16|half|bf_?16|amp|cuda|cpu|mps|xpu|gpus?|ngpus?|devices?|type|count|available|"
    r"data|parallel|distributed|ddp|world|size|local|rank|torch|args|opts?|self|cfg|config|hparams|params|flags|str|len|_)+$"
)
_NAMES_ONE = re.compile(r"cuda|cpu|mps|xpu|gpu|device|half|fp_?16|bf_?16|amp|parallel|distributed|ddp|world|rank")


def switched_on_some(modes: Modes, modules: Iterable[ModuleInfo]) -> bool:
    """Tell whether a model is in training mode unless a condition on the machine holds.

    `modules` are the files in which the switch may stand.
    """
    if kinds(modes) != {TRAIN, EVAL}:
        return False
    by_path = {str(module.path): module for module in modules}
    switches = [fact.site for fact in modes if fact.mode == EVAL]
    return all(site is not None and site.path in by_path and _on_some(by_path[site.path], site) for site in switches)


def _on_some(module: ModuleInfo, site: Site) -> bool:
    """Tell whether the call at `site` stands under a condition on the machine, and under no other one."""
    for scope in (module.body, *module.functions):
        call = call_at(scope, site) if "eval" in scope.words else None
        if call is not None:
            tests = [test for test, _ in conditions(scope, call)]
            return bool(tests) and all(map(_is_about_machines, tests))
    return False


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
