"""Results of which a function wants nothing but that they leave the graph of autograd."""

from __future__ import annotations

import ast
import math

from modellint.static.guards import loops_around, own, path_to, statements_before
from modellint.static.project import FunctionInfo
from modellint.static.project.names import is_named, last_name


def is_only_detached(function: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a function asks nothing of what `call` gives but to be detached, and for its shape.

    `net(x).detach()`; `y = net(x); return y.cpu().data.numpy()`; `last = net(x)[-1]; out[i] = last.detach()`;
    `p, v = net(x); return p.data.numpy(), v.data.numpy()`.
    """
    reader = _Reader(function)
    return reader.is_cut(call) and reader.has_cut


def gives_no_graph(function: FunctionInfo) -> bool:
    """Tell whether all that a function returns has left the graph: `return {"loss": loss.item(), "y": y.detach()}`."""
    known: bool | None = function.memo.get(gives_no_graph)
    if known is None:
        returned = [node.value for node in own(function, ast.Return)]
        yields = any(True for _ in own(function, ast.Yield, ast.YieldFrom))
        known = bool(returned) and not yields and all(_has_no_graph(value, function.self_name) for value in returned)
        function.memo[gives_no_graph] = known
    return known


def _has_no_graph(value: ast.expr | None, me: str | None) -> bool:
    if isinstance(value, (ast.Tuple, ast.List)):
        return all(_has_no_graph(item, me) for item in value.elts)
    if isinstance(value, ast.Dict):
        return all(_has_no_graph(item, me) for item in value.values)
    if isinstance(value, ast.Call):
        func = value.func
        if not isinstance(func, ast.Attribute):
            return isinstance(func, ast.Name) and func.id in _NUMBERS
        if isinstance(func.value, ast.Name) and func.value.id == me:
            return False  # a method of its own, by whatever name
        computes = any(not isinstance(given, ast.Constant) for given in value.args)
        return func.attr in _ENDS or (not computes and _has_no_graph(func.value, me))
    return isinstance(value, ast.Constant)


_ENDS = frozenset({"detach", "item", "tolist", "numpy"})
"""Methods of a tensor after which nothing can be differentiated: `x.float()` is none of them, `float(x)` is."""
_NUMBERS = frozenset({"float", "int", "len"})


class _Reader:
    """What a function does with its expressions."""

    def __init__(self, function: FunctionInfo) -> None:
        self._function = function
        self._asked = {id(node.value): node for node in own(function, ast.Attribute)}
        self._picked = {id(node.value): node for node in own(function, ast.Subscript)}
        self._called = {id(node.func): node for node in function.calls}
        self._squashed = {
            id(call.args[0]): call for call in function.calls if call.args and last_name(call.func) in _SQUASHES
        }
        self._computed = {
            id(part): node
            for node in own(function, ast.BinOp, ast.UnaryOp)
            for part in ((node.left, node.right) if isinstance(node, ast.BinOp) else (node.operand,))
            if not isinstance(getattr(node, "op", None), ast.Not)
        }
        self._assigned = {id(node.value): node for node in own(function, ast.Assign)}
        self._loads: dict[str, list[ast.expr]] = {}
        for name in own(function, ast.Name):
            if isinstance(name.ctx, ast.Load):
                self._loads.setdefault(name.id, []).append(name)
        self._followed: set[tuple[str, ast.Assign]] = set()
        self.has_cut = False  # whether something was detached on the way: `y = y[0]` alone leads in a circle

    def is_cut(self, node: ast.expr) -> bool:
        """Tell whether `node` is detached at once, or when it was moved, picked from, reshaped, squashed or named."""
        attribute = self._asked.get(id(node))
        if attribute is not None and attribute.attr in _CUTS:
            self.has_cut = True
            return True
        if attribute is not None and attribute.attr in _MOVES | _SQUASHES | _ORDERS:
            call = self._called.get(id(attribute))
            return call is not None and self.is_cut(call)
        if id(node) in self._picked:
            picked = self._picked[id(node)]
            return isinstance(picked.ctx, ast.Store) or self.is_cut(picked)  # `y[best] = 0` asks nothing of it
        if id(node) in self._computed:
            return self.is_cut(self._computed[id(node)])  # `(y + 1).detach()`
        if id(node) in self._squashed:
            return self.is_cut(self._squashed[id(node)])
        assigned = self._assigned.get(id(node))
        return assigned is not None and all(self._is_target_cut(target, assigned) for target in assigned.targets)

    def _is_target_cut(self, target: ast.expr, assigned: ast.Assign) -> bool:
        """Tell whether all that is done with what a variable, or each of a row of them, is given cuts its graph."""
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        return all(isinstance(name, ast.Name) and self._is_name_cut(name.id, assigned) for name in names)

    def _is_name_cut(self, name: str, assigned: ast.Assign) -> bool:
        """Tell whether all that is done with a variable cuts its graph, comes back to it or asks for its shape.

        Until it is given something else, that is: `y = net(x); y = y.detach(); return y`.
        """
        if (name, assigned) in self._followed:
            return True
        self._followed.add((name, assigned))
        end = self._end(name, assigned)
        begin = 0 if loops_around(self._function, assigned) else assigned.lineno  # of a loop the last turn is read
        loads = (load for load in self._loads.get(name, ()) if begin <= load.lineno <= end)
        return all(self._is_asked_for_shape(load) or self.is_cut(load) for load in loads)

    def _end(self, name: str, assigned: ast.Assign) -> float:
        """Return the row in which a variable is given something else for certain, after `assigned` and beside it."""
        path = path_to(self._function, assigned)
        outer = path[-2] if len(path) > 1 else self._function
        others = (other for other in self._assigned.values() if any(is_named(t, name) for t in other.targets))
        later = (other for other in others if assigned in statements_before(outer, other))
        return min((other.end_lineno or other.lineno for other in later), default=math.inf)

    def _is_asked_for_shape(self, node: ast.expr) -> bool:
        attribute = self._asked.get(id(node))
        return attribute is not None and attribute.attr in _OF_SHAPE


_CUTS = frozenset({"detach", "data"})
_MOVES = frozenset(
    "contiguous cpu cuda double flatten float half permute reshape squeeze to transpose unsqueeze view".split()
)
_SQUASHES = frozenset({"softmax", "log_softmax", "sigmoid", "tanh", "exp"})
"""Functions, and methods, that make probabilities of scores."""
_ORDERS = frozenset({"sort", "topk", "max", "min", "argsort", "argmax", "argmin", "kthvalue", "median"})
"""Methods that find and order numbers, be it with their places: `scores, places = y.topk(5)`."""
_OF_SHAPE = frozenset({"shape", "size", "dtype", "device"})
