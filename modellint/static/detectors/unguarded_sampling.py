"""Random numbers in a forward that does not ask for the mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.detectors.forward_draws import classes_that_answer, guarded, is_dropout, run_by_forward
from modellint.static.detectors.latent_draws import draws_latent
from modellint.static.guards import assignments, conditions, own, path_to
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.names import last_name


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report draws in forwards, and in the methods that they call, that no guard ties to the mode or to an argument.

    The detector's options: `functions` are qualified names (`*` at the end stands for the rest), `methods` the last
    names of methods of a tensor or a distribution that draw.
    """
    functions: list[str] = rule.rule.detector_options["functions"]
    methods = set(rule.rule.detector_options["methods"])
    for cls in classes_that_answer(context):
        for method in run_by_forward(cls):
            for call in method.calls:
                what = _draws(context, method, call, functions, methods)
                if is_dropout(cls.name, call):
                    continue  # dropout that is always on has a rule of its own
                if what and not guarded(method, call) and not _is_placeholder(method, call):
                    meant = draws_latent(method, call) or _announces_draws(cls, method)
                    meant = meant or _replaces(method, call) or _is_asked_for(method, call)
                    sure = Confidence.POSSIBLE if meant else Confidence.LIKELY
                    yield Finding(context.site(call), {"draw": what, "class": cls.name}, sure)


def _is_placeholder(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a forward hands back what was drawn as it is: it stands for a model that is yet to be written."""
    if method.name != "forward" or any(isinstance(argument, ast.Name) for argument in call.args):
        return False
    drawn = {name for name, value in assignments(method) if value is call}
    returned = [node.value for node in own(method, ast.Return) if node.value is not None]
    return any(
        part is call or (isinstance(part, ast.Name) and part.id in drawn)
        for value in returned
        for part in (value.elts if isinstance(value, ast.Tuple) else [value])
    )


def _replaces(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw stands, as it is, for what the other branch of an `if` computes: an ablation, asked for."""
    path = path_to(method, call)
    return any(
        _is_other_choice(choice, statement, call)
        for choice, statement in pairwise(path)
        if isinstance(choice, ast.If) and isinstance(statement, ast.Assign)
    )


_BY_CHANCE = re.compile(r"== '[^']*(rand|nois|sampl|stoch|gauss|uniform|shuffl)", re.I)


def _is_asked_for(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether an option asks for what is drawn, by a word for it: `if self.method == "random":`."""
    return any(holds and _BY_CHANCE.search(ast.unparse(test)) for test, holds in conditions(method, call))


def _is_other_choice(choice: ast.If, statement: ast.Assign, call: ast.Call) -> bool:
    """Tell whether a statement assigns what `call` draws where the other branch assigns something else."""
    value = statement.value
    while value is not call and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value  # `torch.randn(n).to(x)`
    other = choice.orelse if statement in choice.body else choice.body
    names = {ast.unparse(target) for target in statement.targets}
    return value is call and any(
        isinstance(node, ast.Assign) and not names.isdisjoint(map(ast.unparse, node.targets)) for node in other
    )


_ANNOUNCED = re.compile(
    r"\brandom(ly)?\s+(\w+\s+)?(tak|pick|sampl|select|choos|crop|cut|sub(s|g)|view|augment|walk)|\bdata augmentation",
    re.I,
)


def _announces_draws(cls: ClassInfo, method: FunctionInfo) -> bool:
    """Tell whether the documentation says that a part or a view of the input is chosen at random."""
    nodes = [node for node in cls.scope.body if isinstance(node, ast.ClassDef) and node.name == cls.name]
    texts = (ast.get_docstring(node) or "" for node in (*nodes, method.node) if node is not None)
    return any(_ANNOUNCED.search(text) for text in texts)


def _draws(
    context: FileContext, method: FunctionInfo, call: ast.Call, functions: Iterable[str], methods: set[str]
) -> str:
    """Return how a random draw is written, or an empty text."""
    if any(keyword.arg == "generator" for keyword in call.keywords):
        return ""  # with a state of its own
    name = last_name(call.func)
    qualified = context.qualified(method, call.func)
    if qualified is not None:
        for known in functions:
            if qualified == known or (known.endswith("*") and qualified.startswith(known[:-1])):
                return f"{ast.unparse(call.func)}()"
    elif name in methods and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        if isinstance(owner, ast.Attribute) and owner.attr in ("data", "weight", "bias"):
            return ""
        return f"{name}()"
    return ""
