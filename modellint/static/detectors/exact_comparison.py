"""Two forwards are compared bit by bit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.datapath.evidence import is_forward
from modellint.static.detectors.comparisons import Comparison, comparisons
from modellint.static.guards import values_of
from modellint.static.naming import is_test_file
from modellint.static.origins import Origin
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import taken
from modellint.static.project.names import last_name

_KEEPS = frozenset(
    "detach cpu numpy float double half to cuda clone squeeze unsqueeze flatten view reshape contiguous".split()
)
_OUTPUTS = frozenset({"logits", "last_hidden_state", "pooler_output", "sample", "data", "T", "out", "features"})
_JOINS = frozenset({"cat", "concat", "concatenate", "stack", "vstack", "hstack"})
_DETERMINISTIC = ("use_deterministic_algorithms(True", "enable_full_determinism(")
MAX_DEPTH = 12


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report comparisons without a tolerance of what two forwards returned.

    Options: `exact` are functions that compare exactly, `tolerant` functions that do so when the argument `atol` is 0
    (and `rtol`, where it is given). `compared` are the keywords by which these are given what they compare.

    In a test suite the claim may be that both are the same to the last bit.
    """
    sure = Confidence.POSSIBLE if is_test_file(context.module.path) else Confidence.CERTAIN
    for scope in context.scopes:
        for found in comparisons(context, scope, rule.rule.detector_options):
            if _are_two_forwards(context, scope, found):
                pair = {"left": ast.unparse(found.left), "right": ast.unparse(found.right)}
                yield Finding(context.site(found.node), pair, sure)


def _are_two_forwards(context: FileContext, scope: FunctionInfo, found: Comparison) -> bool:
    """Tell whether both sides hold what a forward returned, and two of them.

    One forward repeated, where deterministic algorithms are asked for, is to give the same.
    """
    one, other = (_forwards(context, Origin(node, scope), 0) for node in (found.left, found.right))
    if not one and not other:
        return False
    if not one or not other:
        calls = [_call_of(context, Origin(node, scope), 0) for node in (found.left, found.right)]
        if None in calls or len({_given(call) for call in calls if call is not None}) != 1:
            return False
        one, other = (dict[object, ast.Call]({id(call): call}) for call in calls if call is not None)
    if not one.keys().isdisjoint(other):
        return False
    written = {ast.unparse(call) for call in (*one.values(), *other.values())}
    return len(written) > 1 or not any(asked in context.module.text for asked in _DETERMINISTIC)


def _given(call: ast.Call) -> str:
    """Return how the arguments of a call are written."""
    return ast.unparse(ast.Call(ast.Name("f"), call.args, call.keywords))


def _call_of(context: FileContext, origin: Origin, depth: int) -> ast.Call | None:
    """Return the call of a variable whose result, unchanged, a value holds: what runs on what a model runs on, too."""
    node = origin.node
    if depth > MAX_DEPTH or node is None:
        return None
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
            return _call_of(context, origin.at(node.func.value), depth + 1)
        known = context.is_forward(node) or context.project.resolve_in(origin.scope, node.func) is None
        return node if known and isinstance(node.func, ast.Name) else None
    if isinstance(node, ast.Name):
        found = values_of(origin.scope, node.id)
        return _call_of(context, origin.at(found[0]), depth + 1) if len(found) == 1 else None
    return None


def _forwards(context: FileContext, origin: Origin, depth: int) -> dict[object, ast.Call]:
    """Return the forwards whose results a value holds unchanged; empty where it may be something else.

    One of a helper counts anew with each call of the helper.
    """
    node = origin.node
    if node is None or depth > MAX_DEPTH:
        return {}
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _KEEPS:
            return _forwards(context, origin.at(func.value), depth + 1)
        plain = isinstance(func, (ast.Name, ast.Call)) or (
            isinstance(func, ast.Attribute) and not _makes_labels(func.attr)
        )
        if plain and bool(node.args or node.keywords) and context.is_forward(node):
            if not _is_a_function(context, origin.scope, node):
                return {origin.key: node}
        if last_name(func) in _JOINS and _is_of_tensors(context, origin.scope, func):
            return _all_forwards(context, origin.at(next(iter(node.args), None)), depth)
        if isinstance(func, ast.Attribute) and func.attr == "run" and _is_session(func.value) and not _feeds(node):
            return {origin.key: node}
        return _all_of(context, context.resolver.origins(origin), depth)
    if isinstance(node, ast.Attribute) and node.attr in _OUTPUTS:
        return _forwards(context, origin.at(node.value), depth + 1)
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(key, str) and key not in _OUTPUTS:
            return {}  # a mask, labels, positions
        return _forwards(context, origin.at(node.value), depth + 1)
    if isinstance(node, ast.Name):
        found = [one for one in context.resolver.origins(origin) if one.symbol is None]
        if not found:  # `hidden = model(x).last_hidden_state`: what an attribute of a result is, nothing in sight tells
            given = values_of(origin.scope, node.id)
            found = [origin.at(given[0])] if len(given) == 1 else []
        return _all_of(context, [one.at(one.node) for one in found], depth)
    return {}


def _is_a_function(context: FileContext, scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a function of the project is called that runs no model, whatever it is called itself."""
    symbol = context.project.resolve_in(scope, call.func)
    called = symbol.target if symbol is not None else None
    if not isinstance(called, FunctionInfo) or last_name(call.func) in {*taken(scope), *scope.stores}:
        return False
    return not any(is_forward(inner) for inner in called.calls)


def _is_of_tensors(context: FileContext, scope: FunctionInfo, func: ast.expr) -> bool:
    name = context.qualified(scope, func)
    return name is not None and name.startswith(("torch.", "numpy."))


def _all_forwards(context: FileContext, parts: Origin, depth: int) -> dict[object, ast.Call]:
    """Return the forwards whose results are the elements of a list; empty where there is anything else in it."""
    node = parts.node
    if isinstance(node, ast.Call) and last_name(node) in ("list", "tuple"):
        node = next(iter(node.args), None)
    if isinstance(node, (ast.List, ast.Tuple)):
        return _all_of(context, [parts.at(element) for element in node.elts], depth)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _forwards(context, parts.at(node.elt), depth + 1)
    given = values_of(parts.scope, node.id) if isinstance(node, ast.Name) else []
    return _all_forwards(context, parts.at(given[0]), depth + 1) if len(given) == 1 and depth <= MAX_DEPTH else {}


def _all_of(context: FileContext, found: list[Origin], depth: int) -> dict[object, ast.Call]:
    results = [_forwards(context, one, depth + 1) for one in found]
    return {key: call for result in results for key, call in result.items()} if all(results) else {}


def _is_session(node: ast.expr) -> bool:
    """Tell whether an object is a session of ONNX Runtime, by its name."""
    return re.search(r"sess|(^|_)ort(_|$)|onnx", last_name(node) or "", re.I) is not None


def _feeds(node: ast.Call) -> bool:
    """Tell whether a session of TensorFlow runs a graph, of which nothing is known here."""
    return any(keyword.arg == "feed_dict" for keyword in node.keywords)


def _makes_labels(name: str) -> bool:
    """Tell whether a method returns labels, tokens or text, which compare exactly."""
    return name.startswith(
        ("predict", "generate", "classif", "detect", "transcri", "translat", "act", "sample", "decode")
    )
