"""Which calls may run a model, or export one: read off how the called thing is written, before anything is known of it.

A table for each way to write it: the first line that fits says whether the call may run a model.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import dataclass

from modellint.static.flow.vocabulary import (
    FORWARD_METHOD,
    MODEL_NAME,
    NO_MODEL_NAME,
    PREPARING_CLASS,
    asks_for_a_loss,
)
from modellint.static.naming import PREPARES_DATA
from modellint.static.project import ClassInfo, FunctionInfo, Project
from modellint.static.project.facts import called_name, parameters
from modellint.static.project.names import last_name

_GIVEN_A_MODEL = frozenset({"export", "trace", "script", "convert", "trace_module", "functional_call", "data_parallel"})
_PLAIN_METHODS = frozenset(
    "append extend items keys values get pop format join split update copy add size view reshape to cuda cpu item "
    "detach numpy backward step zero_grad parameters state_dict load_state_dict eval train "
    "mean sum max min log info".split()
)
_MODES = frozenset({"eval", "train", "no_grad", "inference_mode"})
_LOADS = frozenset({"load_from_checkpoint", "from_pretrained", "load_state_dict"})
_ARRAYS = frozenset({"numpy", "cupy", "torch", "scipy", "math", "random"})
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class _Caller:
    """A function and its names. `given` is empty in a function that sets no mode: what it is given is then no model."""

    project: Project
    function: FunctionInfo
    sets_modes: bool
    variables: frozenset[str]
    given: frozenset[str]
    entries: frozenset[str]

    @property
    def readies(self) -> bool:
        """Whether the function switches a mode or autograd, or loads weights."""
        return self.sets_modes or not _LOADS.isdisjoint(self.function.callees)


def runs_something(project: Project, function: FunctionInfo, entries: frozenset[str]) -> bool:
    """Tell whether `function` itself has a call that may run or export a model.

    `entries` names the methods by which known libraries' models run.
    """
    if not function.calls:
        return False
    variables = frozenset(function.stores)
    outer = function.parent
    while outer is not None and not outer.is_body:
        variables |= outer.stores
        outer = outer.parent
    sets_modes = not _MODES.isdisjoint(function.words)
    given = frozenset(argument.arg for argument, _ in parameters(function)) if sets_modes else frozenset()
    caller = _Caller(project, function, sets_modes, variables, given, entries)
    return any(_may_run(caller, call) for call in function.calls)


def _may_run(caller: _Caller, call: ast.Call) -> bool:
    func = call.func
    if isinstance(func, ast.Name):
        return next((answer for fits, answer in _NAMES if fits(caller, call, func)), False)
    if isinstance(func, ast.Attribute):
        return next((answer for fits, answer in _METHODS if fits(caller, call, func)), False)
    if isinstance(func, ast.Call):
        return last_name(func.func) != "type"  # `type(x)(...)` makes another one of the kind
    return isinstance(func, ast.Subscript)


# -- called by a name --------------------------------------------------------------------------------------


def _is_named_like_a_model(caller: _Caller, _call: ast.Call, func: ast.Name) -> bool:
    return MODEL_NAME.match(func.id) is not None or func.id == caller.function.self_name


def _maps_a_function(_caller: _Caller, call: ast.Call, func: ast.Name) -> bool:
    """Tell `map(f, xs)` from `map(int, texts)`, or that with another builtin."""
    first = call.args[0] if call.args else None
    return func.id == "map" and not (isinstance(first, ast.Name) and first.id in _BUILTINS)


def _is_given_a_model(caller: _Caller, call: ast.Call, _func: ast.Name) -> bool:
    return called_name(caller.function.module, call) in _GIVEN_A_MODEL


def _is_named_like_no_model(_caller: _Caller, _call: ast.Call, func: ast.Name) -> bool:
    return NO_MODEL_NAME.search(func.id) is not None


def _is_variable(caller: _Caller, _call: ast.Call, func: ast.Name) -> bool:
    return func.id in caller.variables or func.id in caller.given or caller.function.module.body.assigns(func.id)


_NAMES: tuple[tuple[Callable[[_Caller, ast.Call, ast.Name], bool], bool], ...] = (
    (_is_named_like_a_model, True),  # net(x)
    (_maps_a_function, True),  # map(predict, batches)
    (_is_given_a_model, True),  # from torch.onnx import export
    (_is_named_like_no_model, False),  # loss_fn(y, target)
    (_is_variable, True),  # for step in steps: x = step(x)
)

# -- called as an attribute --------------------------------------------------------------------------------


def _is_plain(_caller: _Caller, _call: ast.Call, func: ast.Attribute) -> bool:
    return func.attr in _PLAIN_METHODS


def _is_method_given_a_model(_caller: _Caller, _call: ast.Call, func: ast.Attribute) -> bool:
    return func.attr in _GIVEN_A_MODEL


def _is_of_arrays(caller: _Caller, _call: ast.Call, func: ast.Attribute) -> bool:
    """Tell whether what is called is a function of a package that computes."""
    owner = func.value
    imported = caller.function.module.imports.get(owner.id) if isinstance(owner, ast.Name) else None
    return imported is not None and not imported.level and imported.module.split(".", 1)[0] in _ARRAYS


def _is_attribute_like_a_model(_caller: _Caller, _call: ast.Call, func: ast.Attribute) -> bool:
    return MODEL_NAME.match(func.attr) is not None or func.attr == "module"


def _is_forward_method(caller: _Caller, _call: ast.Call, func: ast.Attribute) -> bool:
    """Tell whether what is called is a forward by its name, and not of a tokenizer: `self.tokenizer.encode`."""
    if not FORWARD_METHOD.match(func.attr):
        return False
    function, owner = caller.function, last_name(func.value)
    if owner == function.self_name and function.cls is not None:
        return not PREPARING_CLASS.search(function.cls.name)
    return owner is None or not PREPARES_DATA.search(owner)


def _is_entry_point(caller: _Caller, _call: ast.Call, func: ast.Attribute) -> bool:
    return func.attr in caller.entries and not FORWARD_METHOD.match(func.attr)  # of those that rule tells more


def _is_loss_of_a_model(caller: _Caller, call: ast.Call, _func: ast.Attribute) -> bool:
    """Tell whether a model that the function switches is asked for a loss: `net.eval(); net.loss(batch)`."""
    return caller.sets_modes and bool(call.args) and asks_for_a_loss(call)


def _is_method_of_a_variable(caller: _Caller, call: ast.Call, func: ast.Attribute) -> bool:
    owner = func.value
    if not isinstance(owner, ast.Name) or not call.args or not caller.readies:
        return False
    return owner.id in caller.variables or _is_global(caller, owner.id)


def _is_method_of_a_new_object(caller: _Caller, call: ast.Call, func: ast.Attribute) -> bool:
    """Tell whether an object is made for this call alone: `Evaluator(batches).check(net)`."""
    if not isinstance(func.value, ast.Call) or not call.args or not caller.readies:
        return False
    symbol = caller.project.resolve_in(caller.function, func.value.func)
    return symbol is not None and isinstance(symbol.target, ClassInfo)


def _is_global(caller: _Caller, name: str) -> bool:
    """Tell whether a name is one of the variables of a file, of this or of that which it is imported from."""
    module = caller.function.module
    if module.body.assigns(name):
        return True
    symbol = caller.project.lookup(module, name) if name in module.imports else None
    return symbol is not None and symbol.variable is not None


def _is_kept_by_the_object(caller: _Caller, _call: ast.Call, func: ast.Attribute) -> bool:
    """Tell whether what is called is no method of the class, but something that the object keeps."""
    function, owner = caller.function, func.value
    return (
        isinstance(owner, ast.Name)
        and owner.id == function.self_name
        and function.cls is not None
        and (not PREPARES_DATA.search(func.attr) or _may_be_a_part_that_transforms(caller, func.attr))
        and caller.project.method(function.cls, func.attr) is None
    )


def _may_be_a_part_that_transforms(caller: _Caller, name: str) -> bool:
    """Tell whether a network may compute by a part called `transform`, as normalizing flows do."""
    cls = caller.function.cls
    return name.endswith("transform") and cls is not None and "torch.nn.Module" in caller.project.ancestry(cls)[1]


_METHODS: tuple[tuple[Callable[[_Caller, ast.Call, ast.Attribute], bool], bool], ...] = (
    (_is_plain, False),  # losses.append(x)
    (_is_method_given_a_model, True),  # torch.onnx.export(net, x, path)
    (_is_of_arrays, False),  # random.sample(names, 3)
    (_is_attribute_like_a_model, True),  # self.backbone(x)
    (_is_forward_method, True),  # engine.predict(x)
    (_is_entry_point, True),  # clip_model.visual(x)
    (_is_loss_of_a_model, True),  # net.loss(batch), where modes are set
    (_is_method_of_a_variable, True),  # runner.go(x), where modes are set or weights loaded
    (_is_method_of_a_new_object, True),  # Runner(net).go(x), likewise
    (_is_kept_by_the_object, True),  # self.head(x)
)
