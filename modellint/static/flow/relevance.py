"""Which functions are worth interpreting at all: read off their words and calls, before anything runs."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import dataclass, field

from modellint.catalog.framework import Hook
from modellint.static.classes import Classes
from modellint.static.flow.handed import CALLERS
from modellint.static.flow.vocabulary import (
    FORWARD_METHOD,
    MODEL_NAME,
    NO_MODEL_NAME,
    OTHER_FRAMEWORKS,
    PREPARES_DATA,
    PREPARING_CLASS,
)
from modellint.static.guards import own, walk_own
from modellint.static.knowledge import Knowledge
from modellint.static.naming import speaks_of_inference
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.facts import called_name, parameters
from modellint.static.project.names import last_name

EFFECTS = frozenset(
    "eval train no_grad inference_mode enable_grad set_grad_enabled requires_grad_ requires_grad load_state_dict "
    "from_pretrained volatile set_training_mode create_model jit hub onnx export convert argmax topk item tolist numpy "
    "backward load".split()
)
"""Words without which nothing that happens in a function can end in a finding about modes or gradients."""

_EXPORTS = frozenset({"export", "trace", "script", "convert", "trace_module"})
_PLAIN_METHODS = frozenset(
    "append extend items keys values get pop format join split update copy add size view reshape to cuda cpu item "
    "detach numpy backward step zero_grad parameters state_dict load_state_dict eval train "
    "mean sum max min log info".split()
)
_MAX_DEPTH = 6
_STATE = frozenset(
    "eval train no_grad inference_mode enable_grad set_grad_enabled requires_grad_ requires_grad load_state_dict "
    "from_pretrained set_training_mode create_model jit hub backward register add_module setattr".split()
)


_MODES = frozenset({"eval", "train", "no_grad", "inference_mode"})


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What the text of a function says, whichever file asks: worked out once for a project."""

    runs: dict[FunctionInfo, bool] = field(default_factory=dict)
    builds: dict[FunctionInfo, bool] = field(default_factory=dict)
    callees: dict[FunctionInfo, list[FunctionInfo]] = field(default_factory=dict)


class Relevance:
    """Answers for the functions of one project; `facts` are shared by all who ask."""

    def __init__(
        self,
        project: Project,
        classes: Classes,
        knowledge: Knowledge,
        is_checked: Callable[[str], bool],
        facts: CallFacts,
    ) -> None:
        self._facts = facts
        self._is_checked = is_checked
        self._inert: dict[FunctionInfo, bool] = {}
        self._project = project
        self._classes = classes
        self._knowledge = knowledge
        self._owing: dict[FunctionInfo, bool] = {}

    def is_root(self, function: FunctionInfo) -> bool:
        """Tell whether to analyse `function` on its own."""
        hook = self.hook_of(function)
        if hook is not None and hook.handles_all:
            return False
        cls = function.cls
        if cls is not None and function.name in ("forward", "__init__", "train", "eval"):
            if self._classes.is_module(cls):
                return False
        if not self.owes(function):
            return False
        return self._has_evidence(function, 0) and not (cls is not None and self.is_foreign(cls))

    def is_foreign(self, cls: ClassInfo) -> bool:
        """Tell whether a class is another framework's model."""
        return any(base.split(".", 1)[0] in OTHER_FRAMEWORKS for base in self._project.ancestry(cls)[1])

    def _has_evidence(self, function: FunctionInfo, depth: int) -> bool:
        if not EFFECTS.isdisjoint(function.words):
            return True
        names = [function.name, *([function.cls.name] if function.cls else ())]
        if any(speaks_of_inference(name) for name in names):
            return True
        return depth < 2 and any(self._has_evidence(callee, depth + 1) for callee in self.callees(function))

    def owes(self, function: FunctionInfo, depth: int = 0) -> bool:
        """Tell whether `function`, or one of the project's functions that it calls, may run a forward or an export."""
        if function not in self._owing:
            self._owing[function] = False  # recursion adds nothing
            result = self._runs_something(function)
            if not result and depth < _MAX_DEPTH:
                result = any(self.owes(callee, depth + 1) for callee in self._judged_from(function))
            self._owing[function] = result
        return self._owing[function]

    def _judged_from(self, function: FunctionInfo) -> list[FunctionInfo]:
        """Return the callees whose forwards are judged together with `function`.

        What happens in another file that is checked, too, is judged there, with its callers looked up from there.
        """
        path = function.module.path
        return [
            callee
            for callee in self.callees(function)
            if callee.module.path == path or not self._is_checked(str(callee.module.path))
        ]

    def is_inert(self, function: FunctionInfo, depth: int = 0) -> bool:
        """Tell whether a call of `function` can neither run a model, nor change or build one."""
        if function not in self._inert:
            self._inert[function] = True  # recursion adds nothing
            self._inert[function] = (
                _STATE.isdisjoint(function.words)
                and not self._runs_something(function)
                and not self._builds(function)
                and depth < _MAX_DEPTH
                and all(self.is_inert(callee, depth + 1) for callee in self.callees(function))
            )
        return self._inert[function]

    def _builds(self, function: FunctionInfo) -> bool:
        known = self._facts.builds.get(function)
        if known is None:
            known = self._facts.builds[function] = self._find_builds(function)
        return known

    def _find_builds(self, function: FunctionInfo) -> bool:
        """Tell whether `function` makes modules, hands out objects of the project, or keeps what it is given."""
        if function.cls is not None and function.name == "__init__":
            return True
        for call in function.calls:
            symbol = self._project.resolve_in(function, call.func)
            if symbol is None:
                continue
            if isinstance(symbol.target, ClassInfo) or self._knowledge.loaders.get(symbol.dotted):
                return True
            if self._knowledge.wrappers.get(symbol.dotted) or self._knowledge.module_bases.get(symbol.dotted):
                return True
        return _hands_on(function) or _calls_what_it_picks(function)

    def callees(self, function: FunctionInfo) -> list[FunctionInfo]:
        """Return the functions of the project that `function` calls, or that others may call for it."""
        known = self._facts.callees.get(function)
        if known is None:
            known = self._facts.callees[function] = self._find_callees(function)
        return known

    def _find_callees(self, function: FunctionInfo) -> list[FunctionInfo]:
        found = []
        called = [call.func for call in function.calls]
        if not CALLERS.isdisjoint(function.callees):
            called += [given for call in function.calls for given in _handed_over(call)]
        for func in called:
            if (
                isinstance(func, ast.Attribute)
                and isinstance(func.value, ast.Name)
                and func.value.id == function.self_name
            ):
                method = self._project.method(function.cls, func.attr) if function.cls else None
                if method is not None:
                    found.append(method)
                continue
            symbol = self._project.resolve_in(function, func)
            if symbol is not None and isinstance(symbol.target, FunctionInfo):
                found.append(symbol.target)
            elif symbol is not None and isinstance(symbol.target, ClassInfo):
                # whoever gets the object may call its methods
                is_module = self._classes.is_module(symbol.target)
                for method in symbol.target.methods.values():
                    if not is_module or (method.name in function.callees and method.name != "forward"):
                        found.append(method)
        return found + [inner for inner in function.nested if inner.cls is None]

    def _runs_something(self, function: FunctionInfo) -> bool:
        known = self._facts.runs.get(function)
        if known is None:
            known = self._facts.runs[function] = self._find_runs(function)
        return known

    def _find_runs(self, function: FunctionInfo) -> bool:
        variables = function.stores
        outer = function.parent
        while outer is not None and not outer.is_body:
            variables = variables | outer.stores
            outer = outer.parent
        module = function.module.body
        switches = not _MODES.isdisjoint(function.words)
        given = {argument.arg for argument, _ in parameters(function)} if switches else set()
        for call in function.calls:
            func = call.func
            if isinstance(func, ast.Name):
                name = func.id
                if MODEL_NAME.match(name) or name == function.self_name or (name == "map" and not _maps_to_type(call)):
                    return True
                if called_name(function.module, call) in _EXPORTS:
                    return True
                if NO_MODEL_NAME.search(name):
                    continue
                if name in variables or (switches and name in given):
                    return True
                if module.assigns(name):
                    return True
            elif isinstance(func, ast.Attribute):
                name = func.attr
                if name in _PLAIN_METHODS or (name not in _EXPORTS and _is_of_arrays(function, func.value)):
                    continue
                if MODEL_NAME.match(name) or name in _EXPORTS or name == "module":
                    return True
                if FORWARD_METHOD.match(name) and not _prepares_data(function, func.value):
                    return True
                if switches and call.args and isinstance(func.value, ast.Name) and func.value.id in variables:
                    return True
                if (
                    isinstance(func.value, ast.Name)
                    and func.value.id == function.self_name
                    and function.cls is not None
                    and not PREPARES_DATA.search(name)
                ):
                    if self._project.method(function.cls, name) is None:
                        return True
            elif isinstance(func, ast.Subscript) or (isinstance(func, ast.Call) and last_name(func.func) != "type"):
                return True
        return False

    def hook_of(self, function: FunctionInfo) -> Hook | None:
        """Return what a library does before it calls this method by itself, None if it does not call it."""
        for base in self._project.ancestry(function.cls)[1] if function.cls is not None else ():
            hook = self._knowledge.hook(base, function.name)
            if hook is not None:
                return hook
        return None


def _is_of_arrays(function: FunctionInfo, owner: ast.expr) -> bool:
    """Tell whether what is called is a function of a module that computes: `np.clip`, `random.sample`."""
    imported = function.module.imports.get(owner.id) if isinstance(owner, ast.Name) else None
    return imported is not None and not imported.level and imported.module.split(".", 1)[0] in _ARRAYS


def _prepares_data(function: FunctionInfo, owner: ast.expr) -> bool:
    """Tell whether what is called is a method of a tokenizer or the like: `self.tokenizer.encode`."""
    name = last_name(owner)
    if name == function.self_name and function.cls is not None:
        return PREPARING_CLASS.search(function.cls.name) is not None
    return name is not None and PREPARES_DATA.search(name) is not None


def _maps_to_type(call: ast.Call) -> bool:
    """Tell whether this is `map(int, texts)`, or that with another builtin."""
    return bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id in _BUILTINS


_BUILTINS = frozenset(dir(builtins))
_ARRAYS = frozenset({"numpy", "cupy", "torch", "scipy", "math", "random"})


def _handed_over(call: ast.Call) -> list[ast.expr]:
    """Return the names given to a call that may be functions for it to call."""
    if last_name(call.func) not in CALLERS:
        return []
    given = [*call.args[:2], *(keyword.value for keyword in call.keywords)]
    return [value for value in given if isinstance(value, (ast.Name, ast.Attribute))]


def _calls_what_it_picks(function: FunctionInfo) -> bool:
    """Tell whether a function calls what it takes out of a table: `load = LOADERS[kind]; return load(name)`."""
    called = {call.func.id for call in function.calls if isinstance(call.func, ast.Name)} & function.stores
    return bool(called) and any(
        isinstance(node.value, ast.Subscript) and isinstance(target, ast.Name) and target.id in called
        for node in own(function, ast.Assign)
        for target in node.targets
    )


def _hands_on(function: FunctionInfo) -> bool:
    """Tell whether a function returns what it was given, stores something in an object, or hands out functions."""
    given = {argument.arg for argument, _ in parameters(function)}
    returned: list[ast.expr] = []
    assigned: dict[str, list[ast.expr]] = {}
    for node in walk_own(function):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Return) and node.value is not None:
            returned.append(node.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for bound in ast.walk(target):
                    if isinstance(bound, ast.Name):
                        assigned.setdefault(bound.id, []).append(node.value)
    if function.nested or any(isinstance(value, ast.Lambda) for value in returned):
        return True
    names = {name for value in returned for name in _names_outside_calls(value)}
    for name in list(names):
        for value in assigned.get(name, ()):
            names |= _names_outside_calls(value)
    if function.parent is not None and not function.parent.is_body:
        return not names <= function.stores - given  # what is around a nested function, it can hand out
    return not names.isdisjoint(given)


def _names_outside_calls(value: ast.expr) -> set[str]:
    """Return the names whose objects `value` may be or hold; what a call makes of its arguments is another thing."""
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, (ast.Call, ast.BinOp, ast.Compare, ast.JoinedStr)):
        return set()
    return {
        name
        for child in ast.iter_child_nodes(value)
        if isinstance(child, ast.expr)
        for name in _names_outside_calls(child)
    }
