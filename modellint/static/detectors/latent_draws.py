"""Is a draw a latent, whose mean and spread the module predicts from its input?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.guards import assignments, bindings, own, path_to, values_bound, values_of, walk_own
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk

_POSITIVE = frozenset({"exp", "exp_", "softplus"})
"""What makes a positive spread of a prediction."""

_SPREAD = re.compile(r"(^|_)(std\w*|sigmas?|scale|sd|stdev|spread|log_?var|log_?std|log_?scale)(_|$)|sigma$|std$")
_TIMES = frozenset({"mul", "mul_", "multiply", "addcmul"})
_BY_CHANCES = frozenset({"bernoulli", "multinomial", "poisson", "gumbel_softmax"})
_TAKES_BOTH = frozenset({"normal"})


def draws_latent(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether `call` draws around a mean with a spread that were both computed from the input.

    That is the model's definition (a variational autoencoder, a stochastic policy), where noise of a fixed size
    is a regulariser.
    """
    if "reparam" in method.name.lower():
        return True
    name = last_name(call.func)
    if name == "rsample" and isinstance(call.func, ast.Attribute):
        return _from_input(method, _as_built(method, call.func.value))
    if name in _BY_CHANCES and call.args:
        return _is_computed(method, call.args[0]) or _follows_input(method, call.args[0])
    if name in _TAKES_BOTH and len(call.args) > 1:
        return _from_input(method, call.args[1])
    if _decides(method, call):
        return True
    return any(_is_spread(method, factor) or _is_rest(method, factor) for factor in _factors(method, call))


_LEVEL = re.compile(r"(^|_)(taus?|quantiles?)$|^(index_samples?|samples?_(idx|index|indices))$")


def held_by(method: FunctionInfo, call: ast.Call) -> set[str]:
    """Return the variables that are made of what `call` draws."""
    return {name for name, value in assignments(method) if any(node is call for node in walk(value))}


def _decides(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw is compared with a chance that the module computed, or named as a quantile or a sample."""
    held = held_by(method, call)
    if any(_LEVEL.search(name) for name in held):
        return True
    for sides in _comparisons(method):
        drawn = [s for s in sides if any(n is call or (isinstance(n, ast.Name) and n.id in held) for n in walk(s))]
        others = [side for side in sides if side not in drawn]
        if len(drawn) == 1 and any(_is_computed(method, side) or _follows_input(method, side) for side in others):
            return True
    return False


_COMPARES = frozenset({"lt", "le", "gt", "ge"})


def _comparisons(method: FunctionInfo) -> Iterator[list[ast.expr]]:
    """Yield the two sides of each comparison in a method: of `a < b`, and of `a.lt(b)`."""
    for node in walk_own(method):
        if isinstance(node, ast.Compare):
            yield [node.left, node.comparators[0]]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COMPARES:
            yield [node.func.value, *node.args[:1]]


def _follows_input(forward: FunctionInfo, chance: ast.expr) -> bool:
    """Tell whether the input of a forward decides on a chance: a neuron that fires by its potential, a sampled bit."""
    if forward.name != "forward":
        return False
    computed = {argument.arg for argument, _ in parameters(forward)} - {forward.self_name}
    for statement in own(forward, ast.Assign, ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        places = [item for target in targets for item in (target.elts if isinstance(target, ast.Tuple) else [target])]
        read = read_in(statement.value).union(*(read_in(p.slice) for p in places if isinstance(p, ast.Subscript)))
        if not computed.isdisjoint(read):
            computed.update(ast.unparse(p.value if isinstance(p, ast.Subscript) else p) for p in places)
    return not computed.isdisjoint(read_in(chance))


def read_in(value: ast.expr) -> set[str]:
    """Return the names and attributes in an expression, but those of which only the size is asked."""
    return {ast.unparse(node) for node in _values_in(value) if isinstance(node, (ast.Name, ast.Attribute))}


def _values_in(value: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of an expression but those of which only the size is asked: `x` of `torch.full_like(x, 0.1)`."""
    if isinstance(value, ast.Attribute) and value.attr in _SIZES:
        yield value
        return
    yield value
    sized = value.args[:1] if isinstance(value, ast.Call) and _is_like(value) else []
    for child in ast.iter_child_nodes(value):
        if child not in sized:
            yield from _values_in(child)


def _is_like(call: ast.Call) -> bool:
    return (last_name(call.func) or "").endswith("_like")


_SIZES = frozenset({"shape", "size", "device", "dtype"})


def _is_computed(method: FunctionInfo, chances: ast.expr) -> bool:
    """Tell whether chances come out of a layer of the module: what they decide is its prediction."""
    bound = list(bindings(method))
    values, names = [chances], set[str]()
    for value in values:  # and what that was computed from
        new = names_in(value) - names
        names |= new
        values += [given for name, given in bound if name in new]
    return any(_is_predicted(method, value) or _is_probability(value) for value in values)


def _is_probability(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and last_name(node.func) in ("sigmoid", "softmax") for node in walk(value))


def _as_built(method: FunctionInfo, distribution: ast.expr) -> ast.expr:
    """Return the expression that builds a distribution; itself where that is not in sight."""
    built = values_of(method, distribution.id) if isinstance(distribution, ast.Name) else []
    return built[-1] if built else distribution


def _from_input(method: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether an expression reads an argument or a variable of the method, or an attribute that it sets."""
    own = {argument.arg for argument, _ in parameters(method)} | {name for name, _ in bindings(method)}
    own.discard(method.self_name or "")
    kept = {
        node.attr for node in walk_own(method) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return any(
        (isinstance(node, ast.Name) and node.id in own) or (isinstance(node, ast.Attribute) and node.attr in kept)
        for node in _values_in(value)
    )


def _factors(method: FunctionInfo, call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a draw is multiplied by, at once or through the variable that holds it."""
    path = path_to(method, call)
    uses: list[ast.AST] = [call]
    statement = next((node for node in reversed(path) if isinstance(node, ast.stmt)), None)
    if isinstance(statement, ast.Assign):
        held = {target.id for target in statement.targets if isinstance(target, ast.Name)}
        uses += [
            n for n in walk_own(method) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in held
        ]
    for use in uses:
        for outer in path_to(method, use):
            if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult):
                sides = [outer.left, outer.right]
            elif isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute) and outer.func.attr in _TIMES:
                sides = [outer.func.value, *outer.args]
            else:
                continue
            yield from (side for side in sides if all(node is not use for node in walk(side)))


def _is_spread(method: FunctionInfo, factor: ast.expr) -> bool:
    """Tell whether a factor is a spread that was predicted: `(0.5 * logvar).exp()`, or a variable that holds it."""
    if not _from_input(method, factor):
        return False
    if _makes_positive(factor):
        return True
    given = {argument.arg for argument, _ in parameters(method)}
    for node in walk(factor):
        values = _put_into(method, node)
        if any(_makes_positive(value) or _is_root_of_variance(method, value) for value in values):
            return True
        if isinstance(node, ast.Name) and _SPREAD.search(node.id):
            if node.id in given or any(_is_predicted(method, value) for value in values):
                return True
    return False


def _put_into(method: FunctionInfo, place: ast.AST) -> list[ast.expr]:
    """Return what a method assigns to a variable, or to an element that is written alike: `stds[t] = softplus(x)`."""
    if isinstance(place, ast.Name):
        return values_bound(method, place.id)
    if not isinstance(place, ast.Subscript) or _SPREAD.search(last_name(place.value) or "") is None:
        return []  # an activation in a list, which noise is multiplied with, is no spread
    text = ast.unparse(place)
    return [n.value for n in own(method, ast.Assign) if any(ast.unparse(target) == text for target in n.targets)]


def _makes_positive(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and last_name(node.func) in _POSITIVE for node in walk(value))


def _is_rest(method: FunctionInfo, factor: ast.expr) -> bool:
    """Tell whether a factor is what a variable share leaves: `(1 - t) * noise + t * x`, a step between both."""
    if not isinstance(factor, ast.BinOp) or not isinstance(factor.op, ast.Sub):
        return False
    return isinstance(factor.right, ast.Name) and bool(values_of(method, factor.right.id))


_VARIANCE = re.compile(r"(^|_)vars?$|variance")


def _is_root_of_variance(method: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether `value` is the root of a variance, by its name, that layers of the module computed."""
    roots = [node for node in walk(value) if isinstance(node, ast.Call) and last_name(node) == "sqrt"]
    parts = (node for root in roots for node in walk(root) if isinstance(node, ast.Name))
    return any(_VARIANCE.search(part.id) and _is_computed(method, part) for part in parts)


def _is_predicted(method: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether a method or a submodule of the module computed `value`, or it is part of what one computed."""
    me = method.self_name
    calls = [node for node in walk(value) if isinstance(node, ast.Call)]
    return any(
        last_name(call.func) in ("chunk", "split", "unbind", "tensor_split")
        or any(isinstance(node, ast.Name) and node.id == me for node in walk(call.func))
        for call in calls
    )
