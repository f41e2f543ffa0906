"""`load_state_dict(strict=False)` whose answer, the keys that did not fit, nobody looks at."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.comments import says
from modellint.static.context import FileContext, Finding
from modellint.static.guards import assignments, conditions, loops_around, own, path_to, unnegated, values_of, walk_own
from modellint.static.naming import is_test_module, snake
from modellint.static.origins import Origin, is_parameter
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import argument_given
from modellint.static.project.names import dotted_name, holder, last_name, names_in
from modellint.static.project.trees import walk

_BY_NATURE = re.compile(r"(^|_)(lora\w*|adapters?|delta\w*|prompt\w*|ema|prefix_tuning|control\w*)(_|$)")
"""Names of what is a part of a model by nature."""
_PART = re.compile(r"(^|_)(backbone|encoder|trunk|stem|body|features?|feature_extractor|extractor|base\w*)$")
_CHECKS = re.compile(r"(^|_)(missing|unexpected|mismatch\w*|not_loaded|incompatible|unmatched|skipped)(_|$)")
_TELLS = frozenset({"print", "warn", "warning", "info", "error", "log", "debug", "exception", "critical"})


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report loads whose result is thrown away.

    The detector's options: `methods` are the last names of the methods, with `strict` as the second argument;
    `functions` the qualified names of functions that take it by keyword and return the keys as well.
    """
    if is_test_module(context.module) or _TIMES.search(snake(context.module.path.stem)):
        return
    methods = set(rule.rule.detector_options["methods"])
    functions = set(rule.rule.detector_options["functions"])
    names = methods | {name.rsplit(".", 1)[-1] for name in functions}
    for scope in context.scopes:
        for call in scope.calls:
            name = last_name(call.func)
            if name not in names:  # equivalent: saves the look
                continue
            if not _is_lax(context, scope, call, name in methods):
                continue
            qualified = context.qualified(scope, call.func)
            if qualified not in functions and (name not in methods or _is_of_a_library(qualified)):
                continue
            looked_at = (
                not _thrown_away(scope, call) or _handled(scope, call) or _told_by_a_helper(context, scope, call)
            )
            if not looked_at and not says(scope.module, call, _STRICT):
                meant = _fills_a_part(call) or _fills_a_head(scope, call) or _is_of_one_file(scope, call)
                confidence = Confidence.POSSIBLE if meant else Confidence.CERTAIN
                yield Finding(context.site(call), {"call": ast.unparse(call.func)}, confidence)


_TIMES = re.compile(r"(^|_)(bench\w*|speed\w*|latency|throughput|profil(er|ing))(_|$)")
"""Files that measure time: what a model answers is not looked at."""

_STRICT = re.compile(r"strict", re.I)
"""What a comment speaks of that says why a load is not."""


def _is_of_a_library(qualified: str | None) -> bool:
    """Tell whether it is no method that is called but a function: that of mmengine tells of the keys itself."""
    return qualified is not None and qualified.split(".")[0] != "torch"


def _is_of_one_file(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a state always comes from the same address, or from a table of them: what is in it was known."""
    state = _state_of(call)
    made = values_of(scope, state.id) if isinstance(state, ast.Name) else [state]
    return bool(made) and all(value is not None and _is_fetched(scope, value) for value in made)


def _is_fetched(scope: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether `value` is fetched from an address that is written down, or part of what is."""
    if isinstance(value, ast.Subscript):
        return _is_fetched(scope, value.value)
    address = argument_given(value, ("url",), 0) if isinstance(value, ast.Call) else None
    if address is None or last_name(value) not in _FETCHES:
        return False
    written = values_of(scope, address.id) if isinstance(address, ast.Name) else [address]
    named = isinstance(address, ast.Name) and address.id.isupper()
    return named or (bool(written) and all(map(_is_written_down, written)))


def _is_written_down(address: ast.expr) -> bool:
    return isinstance(address, ast.Constant) or (
        isinstance(address, ast.Subscript) and isinstance(address.value, ast.Name)
    )


_FETCHES = frozenset({"load_state_dict_from_url", "load_url"})


def _is_lax(context: FileContext, scope: FunctionInfo, call: ast.Call, positional: bool) -> bool:
    """Tell whether `strict` is False: as written, in a variable or in options. What a parameter says, callers know."""
    for view in context.resolver.views(Origin(call, scope)):
        given = view.argument("strict", 1 if positional else None)
        if given is None or given.node is None or is_parameter(given):
            return False
        return context.resolver.constant(given) == (False,)
    return False


def _state_of(call: ast.Call) -> ast.expr | None:
    """Return the state that a call loads."""
    return argument_given(call, ("state_dict",), 0)


def _parent(scope: FunctionInfo, call: ast.Call) -> ast.AST | None:
    return next(iter(path_to(scope, call)[-2:-1]), None)


def _kept_in(parent: ast.AST | None) -> set[str]:
    """Return the variables that a statement with a load puts its result into."""
    return {name for target in parent.targets for name in names_in(target)} if isinstance(parent, ast.Assign) else set()


def _thrown_away(scope: FunctionInfo, call: ast.Call) -> bool:
    parent = _parent(scope, call)
    if isinstance(parent, ast.Expr):
        return not scope.module.shows(parent)
    if not isinstance(parent, ast.Assign):
        return False
    names = _kept_in(parent)
    if any(name in names for node in own(scope, ast.Global) for name in node.names):
        return False
    if scope.is_body and names != {"_"}:
        return False
    return not any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names and node.id != "_"
        for inner in ([scope.node] if scope.node is not None else scope.body)
        for node in walk(inner)
    )


def _comes_with_an_account(scope: FunctionInfo, state: str) -> bool:
    """Tell whether a function that was given the model's own keys hands back a state and a report, which is told.

    `matched, report = match(net.state_dict(), saved)`, and `print(report)`.
    """
    for node in own(scope, ast.Assign):
        names = names_in(node.targets[0]) if isinstance(node.targets[0], ast.Tuple) else set[str]()
        given = node.value.args if isinstance(node.value, ast.Call) else []
        if state in names and any(isinstance(a, ast.Call) and last_name(a.func) == "state_dict" for a in given):
            told = {name for call in scope.calls_of(*_TELLS) for name in names_in(call)}
            return not told.isdisjoint(names - {state})
    return False


def _handled(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether the author knows what does not fit: keys were compared or picked, or the fallback is told."""
    state = _state_of(call)
    if isinstance(state, ast.Name) and _comes_with_an_account(scope, state.id):
        return True
    owner = scope.cls.name if scope.cls is not None else ""
    words = [
        scope.name,
        owner,
        scope.module.path.stem,
        *(ast.unparse(argument) for argument in call.args),
        ast.unparse(call.func),
    ]
    if any(_BY_NATURE.search(snake(word.replace(".", "_"))) for word in words):
        return True
    if isinstance(state, ast.Call) and last_name(state) in _DICTS and state.args:
        state = state.args[0]
    if isinstance(state, ast.List):
        return True  # pairs, each with its key
    if isinstance(state, ast.Dict):
        return all(key is not None for key in state.keys)  # the keys are named on the spot
    if isinstance(state, ast.DictComp):
        return _picks(state)
    if state is not None and (_is_in_sight(scope, state, call) or _is_saved_in_part(scope, state)):
        return True
    if _is_compared_before(scope, call) or _tells_of_keys(scope, call) or _tells_of_differences(scope, call):
        return True
    name = dotted_name(state) if state is not None else None
    kept = _kept_in(_parent(scope, call))
    for node in walk_own(scope):
        if isinstance(node, ast.Name) and node.id not in kept and _CHECKS.search(snake(node.id)):
            return True  # else nobody reads it
        if isinstance(node, ast.ExceptHandler) and _contains(node, call) and _tells(node):
            return True
        before = name is not None and getattr(node, "lineno", call.lineno) <= call.lineno
        if before and _changes_keys(node, name or "") and not _may_take_nothing(scope, node):
            return True
    return False


def _may_take_nothing(scope: FunctionInfo, node: ast.AST) -> bool:
    """Tell whether a key is taken out in a loop over the keys where it has a part in its name: `if "head" in key:`.

    Perhaps none has, and what is left fits nothing, as where a comprehension leaves such keys out.
    """
    for loop in loops_around(scope, node):
        tests = [test for test, _ in conditions(scope, node) if test.lineno > loop.lineno]
        keys = names_in(loop.target) if isinstance(loop, ast.For) else set[str]()
        if tests and all(_asks_for_part(part, keys) for test in tests for part in _parts(test)):
            return True
    return False


def _parts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) else [test]


def _asks_for_part(test: ast.expr, keys: Container[str]) -> bool:
    """Tell whether a condition asks for a text that is written down in one of `keys`."""
    match test:
        case ast.Compare(ast.Constant(), [ast.In()], [ast.Name(key)]):
            return key in keys
        case ast.Call(ast.Attribute(ast.Name(key), "startswith" | "endswith"), [ast.Constant()]):
            return key in keys
    return False


def _tells_of_keys(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether what is told of weights depends on the keys of the state that is loaded, or on the model's own."""
    keys = _made_of(scope, _loaded(call)) | _made_of(scope, _of_the_model(scope))
    return any(
        not keys.isdisjoint(names_in(node)) or any(not keys.isdisjoint(names_in(t)) for t, _ in conditions(scope, node))
        for node in scope.calls
        if _tells_what_does_not_fit(node)
    )


def _tells_of_differences(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether keys or shapes of the state and of the model are compared, and what differs is told one by one."""
    theirs, mine = _made_of(scope, _loaded(call)), _made_of(scope, _of_the_model(scope))
    for told in scope.calls_of(*_TELLS):
        tests = [unnegated(test, holds) for test, holds in conditions(scope, told)]
        asked = {name for test, _ in tests for name in names_in(test)}
        both = not (asked.isdisjoint(theirs) or asked.isdisjoint(mine) or (theirs | mine).isdisjoint(names_in(told)))
        if both and any(_differs(test, holds) for test, holds in tests):
            return True
    return False


def _differs(test: ast.expr, holds: bool) -> bool:
    """Tell whether a condition asks for what is missing on one side, or not the same on both."""
    kinds = (ast.NotIn, ast.NotEq, ast.Is) if holds else (ast.In, ast.Eq, ast.IsNot)
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], kinds)


def _loaded(call: ast.Call) -> set[str]:
    """Return the variable that holds what a call loads, if there is one."""
    states = filter(None, [_state_of(call)])
    return {node.id for given in states if isinstance(node := holder(given), ast.Name)}


def _of_the_model(scope: FunctionInfo) -> set[str]:
    """Return the variables that hold what a model holds."""
    return {name for name, value in _bound(scope) if _is_of_the_model(scope, value)}


def _made_of(scope: FunctionInfo, names: set[str]) -> set[str]:
    """Return variables with those that are made of them in a few steps."""
    for _ in range(_STEPS):
        names = names | {name for name, value in _bound(scope) if not names.isdisjoint(names_in(value))}
    return names


def _bound(scope: FunctionInfo) -> list[tuple[str, ast.expr]]:
    """Return the variables that a function assigns, and those of its loops, with what they are of."""
    return [*assignments(scope), *((n, loop.iter) for loop in own(scope, ast.For) for n in names_in(loop.target))]


_STEPS = 3
"""How many assignments may lead from keys to what is told of them."""


def _tells_what_does_not_fit(call: ast.Call) -> bool:
    """Tell whether a call tells of keys by name or number: `print(f"missing key {key}")`, and not of a missing file."""
    if last_name(call) not in _TELLS:
        return False
    parts = [part for given in call.args for part in walk(given)]
    text = " ".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))
    named = any(isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) for part in parts)
    return bool(named and _MISFIT.search(text) and _OF_WEIGHTS.search(text) and not _OF_FILES.search(text))


_MISFIT = re.compile(
    r"\b(miss(ing|ed)|mis-?match\w*|un-?match\w*|unexpected|unused|uninitiali\w+|skip\w*|ignor\w*)\b", re.I
)
_OF_WEIGHTS = re.compile(r"\b(keys?|names?|param(eter)?s?|weights?|layers?|tensors?|modules?|buffers?)\b", re.I)
_OF_FILES = re.compile(r"\b(files?|paths?|checkpoints?|ckpt|director\w*|folders?)\b", re.I)


def _told_by_a_helper(context: FileContext, scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a function of the project makes the state from the model's own keys, and tells what does not fit.

    Or it asserts that every key does.
    """
    state = _state_of(call)
    for made in values_of(scope, state.id) if isinstance(state, ast.Name) else [state]:
        if not isinstance(made, ast.Call) or not any(_is_of_the_model(scope, given) for given in made.args):
            continue
        symbol = context.project.resolve_in(scope, made.func)
        helper = symbol.target if symbol is not None else None
        if isinstance(helper, FunctionInfo):
            return any(map(_tells_what_does_not_fit, helper.calls)) or any(map(_asserts_keys, own(helper, ast.Assert)))
    return False


def _is_of_the_model(scope: FunctionInfo, given: ast.expr) -> bool:
    values = values_of(scope, given.id) if isinstance(given, ast.Name) else [given]
    return any(
        last_name(node) == "state_dict" for value in values for node in walk(value) if isinstance(node, ast.Call)
    )


def _asserts_keys(node: ast.Assert) -> bool:
    return isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.In)


_DICTS = frozenset({"dict", "OrderedDict"})


def _is_in_sight(scope: FunctionInfo, state: ast.expr, call: ast.Call) -> bool:
    """Tell whether `call` loads no checkpoint, but what another model holds, or a dict made here key by key."""
    values = [value for name, value in assignments(scope) if isinstance(state, ast.Name) and name == state.id]
    return all(_is_written_here(scope, state, value, call) for value in values or [state])


def _is_written_here(scope: FunctionInfo, state: ast.expr, value: ast.expr, call: ast.Call) -> bool:
    made = isinstance(value, ast.Call) and last_name(value) in _DICTS and not value.args
    if isinstance(value, ast.Call) and not made:
        return isinstance(value.func, ast.Attribute) and value.func.attr == "state_dict" and not value.args
    stores = [
        node
        for node in own(scope, ast.Subscript)
        if isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and isinstance(state, ast.Name)
        and node.value.id == state.id
    ]
    named = all(
        isinstance(node.slice, ast.Constant)
        or any(holds and _picks_key(test, node.slice) for test, holds in conditions(scope, node))
        or _has_key(scope, call, node.slice)
        for node in stores
    )
    return (made or (isinstance(value, ast.Dict) and not value.keys)) and bool(stores) and named


def _has_key(scope: FunctionInfo, call: ast.Call, key: ast.expr) -> bool:
    """Tell whether what the model holds under a key is looked up, `net.state_dict()[key]`: it has it, or raises."""
    own_state = ast.unparse(call.func).rpartition(".")[0] + ".state_dict()"
    return any(
        ast.unparse(node.value) == own_state and ast.unparse(node.slice) == ast.unparse(key)
        for node in own(scope, ast.Subscript)
    )


def _picks_key(test: ast.expr, key: ast.expr) -> bool:
    """Tell whether a condition asks for what a key is called: `if key in wanted:`, `if key.startswith("head."):`.

    Not of one that is renamed as it is put away: that takes a prefix from all of them.
    """
    if isinstance(test, ast.BoolOp):
        return any(_picks_key(value, key) for value in test.values)
    match test, key:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.In()]), ast.Name(id=stored):
            return name == stored
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="startswith")), ast.Name(id=stored):
            return name == stored
    return False


def _is_saved_in_part(scope: FunctionInfo, state: ast.expr) -> bool:
    """Tell whether the file saves what it loads here, and of a model what it picks: `save({"head": {... if ...}})`."""
    if not isinstance(state, ast.Subscript) or not isinstance(state.slice, ast.Constant):
        return False
    for other in (scope.module.body, *scope.module.functions):
        for call in other.calls_of("save"):
            for saved in call.args[:1]:
                for held in values_of(other, saved.id) if isinstance(saved, ast.Name) else [saved]:
                    if isinstance(held, ast.Dict) and _has_a_part(held, state.slice.value, other):
                        return True
    return False


def _has_a_part(saved: ast.Dict, name: object, scope: FunctionInfo) -> bool:
    """Tell whether a dict has some of the weights of a model under a name."""
    for key, value in zip(saved.keys, saved.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == name:
            for held in values_of(scope, value.id) if isinstance(value, ast.Name) else [value]:
                if isinstance(held, ast.DictComp) and _picks(held):
                    return "state_dict" in ast.unparse(held.generators[0].iter)
    return False


def _is_compared_before(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a function that compares has been given the model and the state: `check_keys(net, state)`."""
    state = _state_of(call)
    if not isinstance(call.func, ast.Attribute) or state is None:
        return False
    both = {ast.unparse(call.func.value), ast.unparse(state)}
    return any(
        other.lineno < call.lineno
        and _COMPARES.search(snake(last_name(other.func) or ""))
        and both <= {ast.unparse(argument) for argument in other.args}
        for other in scope.calls
    )


_COMPARES = re.compile(r"(^|_)(check|verify|compare|validate|inspect|report|match|diff)(_|$)")


def _contains(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in walk(outer))


def _tells(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(node, ast.Call) and last_name(node) in _TELLS for node in walk(handler))


def _picks(value: ast.expr) -> bool:
    """Tell whether a dict is made of the keys that are wanted; what is left without the others may be none of these."""
    return isinstance(value, ast.DictComp) and any(
        _says_which(test) for generator in value.generators for test in generator.ifs
    )


def _says_which(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return any(map(_says_which, test.values))
    match test:
        case ast.UnaryOp(operand=ast.Call()) | ast.Compare(left=ast.Constant(), ops=[ast.NotIn()]):
            return False  # `not k.startswith("head.")`, `"head" not in k`
    return True


def _changes_keys(node: ast.AST, name: str) -> bool:
    """Tell whether `node` takes keys out of the state `name`, or makes it from the keys that it picks."""
    if isinstance(node, ast.Assign) and any(dotted_name(target) == name for target in node.targets):
        value = node.value
        named = isinstance(value, ast.Dict) and bool(value.keys) and all(key is not None for key in value.keys)
        return named or _picks(value) or (isinstance(value, ast.Call) and bool(_SIFTS.search(last_name(value) or "")))
    if isinstance(node, ast.Delete):
        return any(isinstance(t, ast.Subscript) and dotted_name(t.value) == name for t in node.targets)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "pop"
        and dotted_name(node.func.value) == name
    )


_SIFTS = re.compile(r"filter|select|subset|intersect|match|exclude|without|remap|extract|strip_head|drop")


def _fills_a_part(call: ast.Call) -> bool:
    """Tell whether a whole checkpoint goes into a part of the model, where keys are left over by design."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, (ast.Attribute, ast.Name)) and bool(_PART.search(snake(last_name(owner) or "")))


def _fills_a_head(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a whole checkpoint goes into a head, by its own prefix: `key.replace("v_head.", "")`.

    One without that head leaves it new, and the keys of the rest are left over.
    """
    name = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if name is None or not _HEAD.search(snake(name)):
        return False
    return any(node.value == f"{name}." for node in own(scope, ast.Constant))


_HEAD = re.compile(r"(^|_)heads?$")
