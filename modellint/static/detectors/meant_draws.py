"""Is a draw what a model is meant to do: a choice, an option by its word, the start of a search?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from modellint.static.attributes import stored
from modellint.static.comments import says
from modellint.static.detectors.latent_draws import held_by
from modellint.static.guards import assignments, conditions, own, path_to, unnegated, values_of, walk_own
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import holder, last_name
from modellint.static.project.trees import walk

_CHOICES = frozenset(
    {"randperm", "randint", "randint_like", "randrange", "choice", "choices", "sample", "shuffle", "permutation"}
)
"""What picks an element or an order: keys, neighbours, relations, a task. Most of those that were read were meant."""


def is_meant(cls: ClassInfo, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what `call` draws defines the model or was asked for, as far as its form and its words tell."""
    return (
        _chooses(method, call)
        or _is_named(method, call)
        or _is_taken_in_by_a_part(method, call)
        or _has_unit_length(method, call)
        or _announces_draws(cls, method)
        or (not _has_a_chance(method, call) and _answers_elsewhere(cls, method))
        or _has_a_learned_strength(cls, method, call)
        or _replaces(method, call)
        or _is_asked_for(cls, method, call)
        or _can_be_put_to_zero(cls, method, call)
        or (not _drops(method, call) and (_corrects_gradients(method) or _is_off_by_default(cls, method, call)))
    )


def regularises(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what is drawn decides by chance what is dropped, is the state that a recurrent network begins with,
    or is noise on what a forward is given: whatever else it is for, no answer should hang on it."""
    if last_name(call.func) in _BY_CHANCE_ALONE or _is_like_the_input(method, call):
        return True
    held = _held(method, call)
    if any(map(_BEGINS.search, held | _keywords_of(method, call) | {method.name})):
        return True
    if any(isinstance(outer, ast.Compare) for outer in path_to(method, call)):
        return True
    return any(
        isinstance(side, ast.Name) and side.id in held
        for compared in own(method, ast.Compare)
        for side in (compared.left, *compared.comparators)
    )


def _is_like_the_input(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether noise has the shape of what a forward is given, as it is: `x + 0.1 * torch.randn_like(x)`."""
    given = {argument.arg for argument, _ in parameters(method)} if method.name == "forward" else set[str]()
    like = call.args[:1] if (last_name(call.func) or "").endswith("_like") else []
    computed = {name for name, value in assignments(method) if not any(node is call for node in walk(value))}
    return any(isinstance(node, ast.Name) and node.id in given - computed for node in like)


_BY_CHANCE_ALONE = frozenset({"bernoulli", "bernoulli_"})
_BEGINS = re.compile(r"(^|_)(h_?0|c_?0|h_?n|hx|cx|hiddens?|states?)(_|$)")


def _keywords_of(method: FunctionInfo, call: ast.Call) -> set[str]:
    """Return the keywords by which other calls are handed what `call` draws."""
    around = (node for node in path_to(method, call) if isinstance(node, ast.Call))
    return {keyword.arg or "" for node in around for keyword in node.keywords if call in walk(keyword.value)}


def _drops(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw is compared with an attribute named for what is dropped: `torch.rand(n) < self.drop_rate`."""
    return any("drop" in side.attr for side in _compared_with(method, call))


def _has_a_chance(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw, or the variable that it fills, is compared with an attribute of the module."""
    held = _held(method, call)
    return any(True for _ in _compared_with(method, call)) or any(
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id in held
        and isinstance(node.comparators[0], ast.Attribute)
        for node in walk_own(method)
    )


def _held(method: FunctionInfo, call: ast.Call) -> set[str]:
    """Return the variables of what `call` draws, and the one that it fills in place: `chances.uniform_(0, 1)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return held_by(method, call) | ({owner.id} if isinstance(owner, ast.Name) else set())


def _compared_with(method: FunctionInfo, call: ast.Call) -> Iterator[ast.Attribute]:
    """Yield the attributes that what `call` draws is compared with at once."""
    for outer in path_to(method, call):
        if isinstance(outer, ast.Compare):
            yield from (side for side in (outer.left, *outer.comparators) if isinstance(side, ast.Attribute))


def _chooses(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw picks elements or an order, at once or as `torch.rand(n).argsort()`."""
    around = (last_name(node.func) for node in path_to(method, call) if isinstance(node, ast.Call))
    return last_name(call.func) in _CHOICES or "argsort" in around


_NAMED = re.compile(r"teacher|forcing|ground_?truth|\bgt_|sampling_(prob|rat)|dither|dequanti", re.I)
_PHASE = re.compile(r"\bpi\b|\bphases?\b")


def _is_named(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether the words around a draw name it: a chance of teacher forcing, the dither of a signal, its phase."""
    statement = [node for node in path_to(method, call) if isinstance(node, ast.stmt)][-1]
    around = statement.test if isinstance(statement, (ast.If, ast.While)) else statement
    tests = [test for test, _ in conditions(method, call)]
    named = any(_NAMED.search(ast.unparse(node)) for node in (around, *tests))
    return named or _PHASE.search(ast.unparse(around)) is not None or says(method.module, call, _NAMED)


_FOR_NOISE = re.compile(r"noise", re.I)


def _is_taken_in_by_a_part(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a part of the module that is named for noise is given what is drawn: it has learned how much to use.

    Generators of pictures (StyleGAN) have such parts between their layers.
    """
    return any(
        isinstance(outer, ast.Call)
        and call in outer.args
        and isinstance(part := holder(outer.func), ast.Attribute | ast.Name)
        and _FOR_NOISE.search(last_name(part) or "")
        for outer in path_to(method, call)
    )


def _has_unit_length(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what was drawn is divided by its length: the direction from which a search begins."""
    for node in walk_own(method):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            length = node.right
            if isinstance(length, ast.Call) and last_name(length.func) == "norm" and _reads(method, node.left, call):
                return True
        elif isinstance(node, ast.Call) and last_name(node.func) == "normalize" and node.args:
            if _reads(method, node.args[0], call):
                return True
    return False


def _reads(method: FunctionInfo, value: ast.AST, call: ast.Call) -> bool:
    """Tell whether `value` holds what `call` draws, at once or through a variable."""
    held = held_by(method, call)
    return any(node is call or (isinstance(node, ast.Name) and node.id in held) for node in walk(value))


_ANNOUNCED = re.compile(
    r"\brandom(ly)?\s+(\w+\s+)?(tak|pick|sampl|select|choos|crop|cut|sub(s|g)|view|augment|walk)|\bdata augmentation",
    re.I,
)


def _announces_draws(cls: ClassInfo, method: FunctionInfo) -> bool:
    """Tell whether the documentation says that a part or a view of the input is chosen at random."""
    nodes = [node for node in cls.scope.body if isinstance(node, ast.ClassDef) and node.name == cls.name]
    texts = (ast.get_docstring(node) or "" for node in (*nodes, method.node) if node is not None)
    return any(_ANNOUNCED.search(text) for text in texts)


_ANSWERS = re.compile(r"^(autoregressive_infer\w*|sample|generate|infer|inference)$")


def _answers_elsewhere(cls: ClassInfo, method: FunctionInfo) -> bool:
    """Tell whether a class has a method that answers without its forward, which prepares what is learned from.

    The corrupted input of a diffusion, the order in which a sequence is decoded, the labels that guidance leaves out.
    """
    return any(
        _ANSWERS.search(name) and other.node is not None and other is not method and not _runs(other, method.name)
        for name, other in cls.methods.items()
    )


def _runs(method: FunctionInfo, name: str) -> bool:
    """Tell whether a method calls the module that it is of, or one of its methods by `name`."""
    own_call = any(isinstance(call.func, ast.Name) and call.func.id == method.self_name for call in method.calls)
    return own_call or name in method.callees or "forward" in method.callees


def _has_a_learned_strength(cls: ClassInfo, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what is drawn is multiplied by a parameter of the module: how strong it is has been learned."""
    init = cls.methods.get("__init__")
    if init is None:
        return False
    learned = {name for name, value in stored(init) if (last_name(value) or "").endswith("Parameter")}
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and any(_is_the_draw(method, side, call) for side in (node.left, node.right))
        and any(
            isinstance(inner, ast.Attribute) and inner.attr in learned
            for side in (node.left, node.right)
            for inner in walk(side)
        )
        for node in walk_own(method)
    )


def _is_the_draw(method: FunctionInfo, value: ast.expr, call: ast.Call) -> bool:
    """Tell whether a factor is what `call` draws, alone, at once or by a variable."""
    return value is call or (isinstance(value, ast.Name) and values_of(method, value.id) == [call])


def _replaces(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw stands, as it is, for what the other branch of an `if` computes: an ablation, asked for."""
    path = path_to(method, call)
    return any(
        _is_other_choice(choice, statement, call)
        for choice, statement in pairwise(path)
        if isinstance(choice, ast.If) and isinstance(statement, ast.Assign)
    )


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


_BY_CHANCE = re.compile(r"== '[^']*(rand|nois|sampl|stoch|gauss|uniform|shuffl|drop)", re.I)


def _is_asked_for(cls: ClassInfo, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether an option asks for what is drawn, by a word for it: `if self.method == "random":`."""
    return any(holds and _BY_CHANCE.search(ast.unparse(test)) for test, holds in _conditions(cls, method, call))


def _conditions(cls: ClassInfo, method: FunctionInfo, call: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the conditions of a draw, and those under which the methods of the class call the one that draws."""
    yield from conditions(method, call)
    for caller in cls.methods.values():
        for calling in caller.calls_of(method.name):
            yield from conditions(caller, calling)


def _corrects_gradients(method: FunctionInfo) -> bool:
    """Tell whether a method applies a function with a gradient of its own: values go through it as they are."""
    owners = (call.func.value for call in method.calls_of("apply") if isinstance(call.func, ast.Attribute))
    return any((last_name(owner) or "").endswith("Function") for owner in owners)


def _can_be_put_to_zero(cls: ClassInfo, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether another method puts the chance of a draw to zero: `embedder.rate = 0.0` before it generates."""
    chances = {node.attr for node in walk(call) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    return any(
        isinstance(target, ast.Attribute) and target.attr in chances
        for other in cls.methods.values()
        if other is not method and other.name != "__init__"
        for node in own(other, ast.Assign)
        if isinstance(node.value, ast.Constant) and node.value.value == 0
        for target in node.targets
    )


def _is_off_by_default(cls: ClassInfo, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether an option of the constructor, by its default, keeps the module from drawing."""
    init = cls.methods.get("__init__")
    if init is None:
        return False
    defaults = {a.arg: d.value for a, d in parameters(init) if isinstance(d, ast.Constant)}
    options = {n: defaults[v.id] for n, v in stored(init) if isinstance(v, ast.Name) and v.id in defaults}
    for test, holds in conditions(method, call):
        test, holds = unnegated(test, holds)
        match test:
            case ast.Compare(
                ast.Attribute() as amount, [ast.Gt() | ast.NotEq() | ast.IsNot()], [ast.Constant(0 | None)]
            ):
                test = amount
        if isinstance(test, ast.Attribute) and bool(options.get(test.attr, holds)) is not holds:
            return True
        if isinstance(test, ast.Call) and last_name(test) == "hasattr" and holds:
            return True  # which an option has made
    return False
