"""What the methods of a class do with the attributes of `self`: which they assign, keep and call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from modellint.static.flow.vocabulary import MODEL_NAME
from modellint.static.guards import assignments, conditions, own, path_to, put_into
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import is_false, parameters
from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk


def attributes_of(method: FunctionInfo) -> Iterator[str]:
    """Yield the attributes of `self` that `method` assigns or registers."""
    me = method.self_name
    if me is None or method.node is None:
        return
    for node in walk(method.node):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == me:
                yield node.attr
        elif isinstance(node, ast.Call) and last_name(node) in ("add_module", "register_module"):
            if node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def called_attributes(method: FunctionInfo) -> set[str]:
    """Return the attributes of `self` that `method` calls like modules."""
    me = method.self_name
    return {
        call.func.attr
        for call in method.calls
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == me
        and may_be_child(call.func.attr)
    }


def readied_attributes(method: FunctionInfo) -> set[str]:
    """Return the attributes of `self` whose `eval()` a method calls: `self.net.eval()`."""
    owners = (call.func.value for call in method.calls_of("eval") if isinstance(call.func, ast.Attribute))
    return {name for owner in owners if (name := attribute_of(owner, method.self_name or "")) is not None}


def _asked_parts(method: FunctionInfo) -> set[str]:
    """Return the attributes of `self` that are called like models and something of which `method` calls.

    `self.backbone.layer1(x)`, `self.clip_model.encode_image(x)`
    """
    owners = (call.func.value for call in method.calls if isinstance(call.func, ast.Attribute) and call.args)
    named = (attribute_of(owner, method.self_name or "") for owner in owners)
    return {name for name in named if name is not None and MODEL_NAME.match(name)}


def may_be_child(name: str) -> bool:
    """Tell whether an attribute of `self` of that name may be a submodule: no method of every module has it."""
    return name not in _MODULE_METHODS and name not in _LAYER_METHODS and not name.startswith("__")


_MODULE_METHODS = frozenset(
    "add_module apply bfloat16 buffers children compile cpu cuda double eval extra_repr float forward get_buffer "
    "get_extra_state get_parameter get_submodule half ipu load_state_dict modules mtia named_buffers "
    "named_children named_modules named_parameters parameters register_backward_hook register_buffer "
    "register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook "
    "register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter "
    "register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule "
    "share_memory state_dict to to_empty train type xpu zero_grad".split()
)
"""The public methods of torch.nn.Module (its documentation lists them; 2.13)."""

_LAYER_METHODS = frozenset({"reset_parameters", "flatten_parameters", "reset_running_stats"})
"""Methods of torch's layers, which classes that inherit from one have as well."""


def computes_by_mode(method: FunctionInfo) -> bool:
    """Tell whether what a method computes may follow `self.training`.

    Where the mode only makes it raise, or picks a surrogate gradient, its results are the same in both modes.
    """
    if "training" not in method.words or method.name in ("__init__", "__new__", "train", "eval", "training_step"):
        return False
    asked = list(asked_for_mode(method))
    everywhere = [node for node in walk(method.node or ast.Pass()) if getattr(node, "attr", None) == "training"]
    if not everywhere and any(parameter.arg == "training" for parameter, _ in parameters(method)):
        return False  # as in Keras, callers say it
    return len(asked) < len(everywhere) or not asked or any(_follows(path_to(s, node), method) for s, node in asked)


def asked_for_mode(method: FunctionInfo) -> Iterator[tuple[FunctionInfo, ast.Attribute]]:
    """Yield where a method asks an object for its mode, each with the function that does: the method, or one in it."""
    for scope in method.inner():
        yield from ((scope, node) for node in own(scope, ast.Attribute) if node.attr == "training")


def calls_through_self(family: Iterable[ClassInfo], name: str) -> Iterator[tuple[FunctionInfo, ast.Call]]:
    """Yield the calls `self.name(...)` in the methods of classes, each with its method."""
    for owner in family:
        for method in owner.methods.values():
            for call in method.calls_of(name):
                if attribute_of(call.func, method.self_name or "") == name:
                    yield method, call


def _follows(path: list[ast.AST], method: FunctionInfo) -> bool:
    """Tell whether the innermost statement of a path that ends with `self.training` in `method` computes by it."""
    statement = next(node for node in reversed(path) if isinstance(node, ast.stmt))
    if isinstance(statement, ast.If):
        if _asks_another(statement.test, method):
            return False
        return bool(statement.orelse) or not all(isinstance(inner, ast.Raise) for inner in statement.body)
    if isinstance(statement, ast.Assign):
        if statement.value is path[-1] and _is_put_back(statement.targets[0], method):
            return False
        return not all("surrogate" in ast.unparse(target) for target in statement.targets)
    return not isinstance(statement, (ast.Assert, ast.Raise))


def may_compute_by_mode(method: FunctionInfo) -> bool:
    """Tell whether what a method does in training mode hangs on an amount that another object has."""
    if "training" not in method.words:
        return False
    tests = (node.test for scope in method.inner() for node in own(scope, ast.If))
    return any(_asks_another(test, method) and "training" in ast.unparse(test) for test in tests)


def _asks_another(test: ast.expr, method: FunctionInfo) -> bool:
    """Tell whether a condition also asks another object for an amount: `self.training and options.noise > 0`."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return False
    return any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], (ast.Gt, ast.NotEq))
        and isinstance(part.comparators[0], ast.Constant)
        and part.comparators[0].value == 0
        and isinstance(part.left, ast.Attribute)
        and attribute_of(part.left, method.self_name or "") is None
        for part in test.values
    )


def _is_put_back(kept: ast.expr, method: FunctionInfo) -> bool:
    """Tell whether a mode that was kept is given back to modules and used for nothing else.

    By `self.train(kept)`, or by `if kept: self.train()`, with `else: self.eval()` or without.
    """
    if not isinstance(kept, ast.Name):
        return False
    uses = {id(n) for n in own(method, ast.Name) if n.id == kept.id and isinstance(n.ctx, ast.Load)}
    given = {id(argument) for call in method.calls_of("train") for argument in call.args}
    for branch in own(method, ast.If):
        done = [last_name(s.value) if isinstance(s, ast.Expr) else None for s in branch.body + branch.orelse]
        if {"train", "eval"}.issuperset(done):
            given |= {id(n) for n in ast.walk(branch.test)}
    return bool(uses) and uses <= given


def kept_arguments(function: FunctionInfo, arguments: set[str]) -> Iterator[str]:
    """Yield the arguments that `__init__` stores as they are and a method calls later: children out of sight."""
    cls = function.cls
    if cls is None or function.node is None:
        return
    called: set[str] = set()
    for method in cls.methods.values():
        called |= called_attributes(method) | _asked_parts(method)
    for name, value in stored(function):
        if isinstance(value, ast.Name) and value.id in arguments and name in called and not _WITHOUT_MODE.search(name):
            yield value.id
        elif isinstance(value, ast.Call) and last_name(value) in _HOLDS_MODULES:
            for part in put_into(function, f"{function.self_name}.{name}"):
                yield from _taken_from(function, part, arguments)


_HOLDS_MODULES = frozenset({"ModuleList", "ModuleDict", "Sequential"})


def _taken_from(function: FunctionInfo, value: ast.expr, arguments: set[str]) -> Iterator[str]:
    """Yield the argument that a value is, or whose elements a loop takes one by one: `for net in nets:`."""
    if isinstance(value, ast.Name) and value.id in arguments:
        yield value.id
    elif isinstance(value, ast.Name):
        loops = (loop for loop in own(function, ast.For) if value.id in names_in(loop.target))
        yield from (name for loop in loops for name in names_in(loop.iter) if name in arguments)


_WITHOUT_MODE = re.compile(
    r"^_?(act|activ|activation|actv|nonlinear\w*|non_linear\w*|(\w+_)?(loss|criterion))(_?(fn|func|function|layer))?$"
)
"""Attributes that hold an activation function or a loss: what is given there computes the same in every mode."""


def never_runs(init: FunctionInfo, attribute: str) -> bool:
    """Tell whether a class stores a part that no method of it runs: a classifier beside what gives feature maps.

    What runs only where a caller asks for it (`if is_training: x = self.dropout(x)`) goes by that, not by the mode.
    """
    cls = init.cls
    if init.name != "__init__" or cls is None or "forward" not in cls.methods or cls.bases not in _PLAIN_MODULE:
        return False
    if any(cls.name in other.bases for other in cls.module.classes):
        return False
    for method in cls.methods.values():
        nodes = [node for node in walk(method.node) if isinstance(node, ast.Attribute)] if method.node else []
        loads = [node for node in nodes if node.attr == attribute and isinstance(node.ctx, ast.Load)]
        if not all(_is_asked_for(method, load) for load in loads):
            return False
        if not _SETS_UP.search(method.name):
            whole = {node.value.id for node in nodes if node.attr in _LISTS_PARTS and isinstance(node.value, ast.Name)}
            if "getattr" in method.callees or method.self_name in whole:
                return False
    return True


def _is_asked_for(method: FunctionInfo, node: ast.AST) -> bool:
    """Tell whether `node` is reached only where a caller sets an option that is off by default."""
    off = {a.arg for a, default in parameters(method) if is_false(default)}
    return any(holds and isinstance(test, ast.Name) and test.id in off for test, holds in conditions(method, node))


_PLAIN_MODULE = (("nn.Module",), ("torch.nn.Module",))
_LISTS_PARTS = frozenset({"children", "modules", "named_children", "named_modules", "_modules"})
_SETS_UP = re.compile(r"init|reset|freez|load|weights|param")


def owner_of(function: FunctionInfo, call: ast.Call) -> str:
    """Return the attribute of `self` whose assignment in `function` holds `call`, or an empty text."""
    return next((name for name, value in stored(function) if _holds(value, call)), "")


def stored(function: FunctionInfo) -> list[tuple[str, ast.expr]]:
    """Return the attributes that a function assigns, with what it assigns to each."""
    known: list[tuple[str, ast.expr]] | None = function.memo.get(stored)
    if known is None:
        known = function.memo[stored] = list(_assigned(function))
    return known


def _assigned(function: FunctionInfo) -> Iterator[tuple[str, ast.expr]]:
    nodes = walk(function.node) if function.node else ()
    for node in (node for node in nodes if isinstance(node, ast.Assign)):
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            yield from ((place.attr, value) for place, value in pairs if isinstance(place, ast.Attribute))


def _holds(node: ast.expr, inner: ast.expr) -> bool:
    """Tell whether `inner` stands inside `node`, or is it, by their places in the text of one file."""
    begins = (node.lineno, node.col_offset) <= (inner.lineno, inner.col_offset)
    last, inner_last = node.end_lineno or 0, inner.end_lineno or 0
    return begins and (inner_last, inner.end_col_offset or 0) <= (last, node.end_col_offset or 0)


def taken_of(function: FunctionInfo, call: ast.Call) -> frozenset[str]:
    """Return the attributes that a function takes of what `call` makes; nothing where it uses it in another way, too.

    `vgg16().features`; `net = vgg16()`, of which there is `net.features` alone.
    """
    owners = {id(node.value): node.attr for node in own(function, ast.Attribute)}
    if id(call) in owners:
        return frozenset({owners[id(call)]})
    taken = [owners.get(id(use)) for use in _uses(function, call)]
    return frozenset() if None in taken else frozenset(name for name in taken if name is not None)


def is_looked_up(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a function only takes entries by their names of what `call` gives: a dict, `state["net"]`."""
    keys = {id(n.value) for n in own(function, ast.Subscript) if _is_text(n.slice)}
    uses = _uses(function, call)
    return bool(uses) and all(id(use) in keys for use in uses)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _uses(function: FunctionInfo, call: ast.Call) -> list[ast.Name]:
    """Return where the variables are read that hold what `call` gives."""
    names = {name for name, value in assignments(function) if value is call}
    return [node for node in own(function, ast.Name) if node.id in names and isinstance(node.ctx, ast.Load)]
