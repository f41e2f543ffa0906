"""Is this code inference or training, in one activation of its function?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from modellint.static.flow.vocabulary import FORWARD_METHOD, MODEL_NAME, NO_MODEL_NAME, SWITCHES_OFF
from modellint.static.guards import walk_own
from modellint.static.naming import TRAINING_NAME, is_test_module, snake
from modellint.static.origins import Activation, Origin, Resolver
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import is_false
from modellint.static.project.names import arguments_of, last_name
from modellint.static.project.trees import walk

EVALUATES = re.compile(
    r"(^|_)(eval\w*|valid\w*|val|test\w*|infer\w*|predict\w*|pred|serv\w*|classify\w*|submit\w*|submission|"
    r"extract\w*|embed\w*|encode\w*|transcri\w*|score\w*|accuracy)(_|$)"
)
"""Names of functions that evaluate or predict; drawing samples to look at them is neither."""

LOOKS = re.compile(
    r"(^|_)(visuali[sz]\w*|vis|show\w*|plot\w*|draw\w*|sampl\w*|demo|preview|inspect\w*|reconstruct\w*|generat\w*|"
    r"interpolat\w*|debug|sanity|qualitative|mc|monte|carlo|tta|bench\w*|speed|profil\w*|latency|throughput|contrastive|stats?|statistics|calibrat\w*)(_|$)"
)
"""Names of code that wants a few samples, or random ones."""

_AUGMENTS = re.compile(r"(^|_)augment\w*(_|$)")
"""Names of functions that want augmented samples; a file of that name holds the evaluation without them as well."""

REPEATS = re.compile(r"(^|_)(tta|augment\w*|aug|views?|crops?|mc)(_|$)")
"""Names of code that draws several views of one input and takes their mean."""

CORRUPTS = re.compile(
    r"(^|_)(ssl|self_?supervised|contrastive|pretext|restor\w*|denois\w*|inpaint\w*|corrupt\w*|noisy|masked)(_|$)"
)
"""Names of code whose task is to undo, or to see through, what was done to the input at random."""

_TRAINER = re.compile(r"^_?(train|training|fit)(_(?!trans|tf|pre|loader|set|data|ds$|dl$|aug)\w+)?$")
_ENCODES = frozenset({"encode_image", "encode_text", "get_image_features", "get_text_features", "forward_features"})
_TRAINS = frozenset({"backward", "manual_backward", "minimize"})


def is_test_scope(scope: FunctionInfo) -> bool:
    """Tell whether `scope` is part of a test suite."""
    module = scope.module
    return is_test_module(module) or ("pytest" in module.imports and scope.name.startswith("test"))


def evaluates_by_name(name: str) -> bool:
    """Tell whether a name speaks of evaluation or prediction, and neither of training nor of samples to look at."""
    text = snake(name)
    return bool(EVALUATES.search(text)) and not TRAINING_NAME.search(text) and not _wants_samples(text)


def _wants_samples(text: str) -> bool:
    return LOOKS.search(text) is not None or _AUGMENTS.search(text) is not None


def looks_at_samples(scope: FunctionInfo) -> bool:
    """Tell whether a function, or its file, is named for a look at some samples."""
    inner: FunctionInfo | None = scope
    while inner is not None and not inner.is_body:
        if _wants_samples(snake(inner.name)):
            return True
        inner = inner.parent
    return LOOKS.search(snake(scope.module.path.stem)) is not None


def trains(resolver: Resolver, scope: FunctionInfo, root: ast.AST, activation: Activation) -> bool:
    """Tell whether the code below `root` computes gradients or steps an optimizer."""
    steps: list[ast.Call] = []
    clears: list[ast.Call] = []
    left = set(_on_leaving(root, scope))
    for node in walk(root):
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in _TRAINS or (name == "step" and _is_optimizer(node.func)) or trains_by_name(name):
                if node not in left:
                    steps.append(node)
            elif name == "zero_grad":
                clears.append(node)
    # gradients are often cleared in both phases of a loop; what counts is whether they are computed
    if not steps and evaluates_by_name(scope.name) and _after_eval(resolver, scope, root, activation):
        return False
    return any(resolver.runs(scope, call, activation) for call in steps or clears)


def _on_leaving(root: ast.AST, scope: FunctionInfo) -> Iterator[ast.expr]:
    """Yield `net.train()` before a `return` or `break`, of what `net.eval()` was called of: it puts that back."""
    readied = {f"{ast.unparse(call.func).removesuffix('.eval')}.train()" for call in scope.calls_of("eval")}
    for node in walk(root) if readied else ():
        block = getattr(node, "body", None)
        for statement, after in pairwise(block if isinstance(block, list) else ()):
            leaves = isinstance(after, (ast.Return, ast.Break))
            if leaves and isinstance(statement, ast.Expr) and ast.unparse(statement.value) in readied:
                yield statement.value


def trains_by_name(name: str | None) -> bool:
    """Tell whether a function is named for training."""
    return name is not None and _TRAINER.search(snake(name)) is not None


def _is_optimizer(func: ast.expr) -> bool:
    return (
        isinstance(func, ast.Attribute) and re.search(r"optim|opt\b|scaler", ast.unparse(func.value), re.I) is not None
    )


def runs_model(root: ast.AST, scope: FunctionInfo) -> bool:
    """Tell whether the code below `root` calls something that looks like a model, or hands a model on.

    Whatever it is called, a variable of which `scope` calls `eval()` is one: `model_train.eval()`.
    """
    owners = (call.func.value for call in scope.calls_of("eval") if isinstance(call.func, ast.Attribute))
    readied = {owner.id for owner in owners if isinstance(owner, ast.Name)}
    calls = (node for node in walk(root) if isinstance(node, ast.Call))
    return any(
        (isinstance(call.func, ast.Name) and call.func.id in readied) or is_forward(call) or _given_model(call)
        for call in calls
    )


def is_forward(call: ast.Call) -> bool:
    """Tell whether a call looks like a forward of a model."""
    func = call.func
    if isinstance(func, ast.Name):
        return _is_model_name(func.id) or func.id == "self"
    if isinstance(func, ast.Attribute):
        if _is_model_name(func.attr) or func.attr in _ENCODES:
            return True
        owner = last_name(func.value)
        return (
            owner is not None and bool(FORWARD_METHOD.match(func.attr)) and (_is_model_name(owner) or owner == "self")
        )
    return False


def gathers_statistics(root: ast.AST, scope: FunctionInfo) -> bool:
    """Tell whether a function named for statistics runs a model in a loop and does nothing else: `net(images)`.

    Batch norms gather theirs anew so. Elsewhere hooks, or the model itself, may keep what it computes.
    """
    if not isinstance(root, (ast.For, ast.AsyncFor)) or _STATISTICS.search(snake(scope.name)) is None:
        return False
    asked = [statement.value for statement in root.body if isinstance(statement, ast.Expr)]
    others = (statement for statement in root.body if not isinstance(statement, ast.Expr))
    runs = any(isinstance(value, ast.Call) and is_forward(value) for value in asked)
    return runs and all(isinstance(statement, (ast.Assign, ast.If)) for statement in others)


_STATISTICS = re.compile(
    r"(^|_)(bn|batch_?norms?|running_statistics|stat(istic)?s|calib\w*|recalib\w*|recompute\w*)(_|$)"
)


def _is_model_name(name: str) -> bool:
    return MODEL_NAME.match(name) is not None and NO_MODEL_NAME.search(name) is None


def _given_model(call: ast.Call) -> bool:
    given = arguments_of(call)
    return any(isinstance(a, (ast.Name, ast.Attribute)) and _is_model_name(last_name(a) or "") for a in given)


def infers(resolver: Resolver, scope: FunctionInfo, node: ast.AST, activation: Activation) -> bool:
    """Tell whether the code at `node` shows to be inference: no gradients, or the model put into evaluation mode."""
    return _without_grad(resolver, scope, node, activation) or _after_eval(resolver, scope, node, activation)


def infers_for_its_caller(resolver: Resolver, scope: FunctionInfo, activation: Activation) -> bool:
    """Tell whether a function that switches no mode by itself is called where the code shows to be inference."""
    call = activation.call
    if call is None or call.node is None or any(True for _ in _switches(scope)):
        return False
    return infers(resolver, call.scope, call.node, call.activation)


def _without_grad(resolver: Resolver, scope: FunctionInfo, node: ast.AST, activation: Activation) -> bool:
    inner: FunctionInfo | None = scope
    while inner is not None:
        if not SWITCHES_OFF.isdisjoint(d for d in inner.decorators if d):
            return True
        inner = inner.parent
    inside = {id(n) for n in walk(node)}
    for statement in walk_own(scope):
        if isinstance(statement, (ast.With, ast.AsyncWith)) and (id(statement) in inside or _within(node, statement)):
            for item in statement.items:
                if _switches_off(resolver, Origin(item.context_expr, scope, activation)):
                    return True
    return any(last_name(call.func) == "set_grad_enabled" and _is_false(call) for call in scope.module.body.calls)


def _is_false(call: ast.Call) -> bool:
    return bool(call.args) and is_false(call.args[0])


def _switches_off(resolver: Resolver, manager: Origin) -> bool:
    node = manager.node
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    if name in SWITCHES_OFF:
        return not _is_false(node)
    return name == "set_grad_enabled" and bool(node.args) and resolver.truth(manager.at(node.args[0])) is False


def _within(node: ast.AST, statement: ast.AST) -> bool:
    start = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
    return (statement.lineno, statement.col_offset) < start < (statement.end_lineno, statement.end_col_offset)  # type: ignore[attr-defined]


def _after_eval(resolver: Resolver, scope: FunctionInfo, node: ast.AST, activation: Activation) -> bool:
    """Tell whether the last switch before `node` (in its function, else in the constructor of its class) is eval()."""
    last = None
    for call in _switches(scope):
        if (call.lineno, call.col_offset) < (node.lineno, node.col_offset) and resolver.runs(scope, call, activation):  # type: ignore[attr-defined]
            last = call
    if last is not None:
        return _to_eval(resolver, Origin(last, scope, activation)) is True
    if scope.cls is not None and scope.name != "__init__":
        init = resolver.project.method(scope.cls, "__init__")
        found = [_to_eval(resolver, Origin(call, init)) for call in _switches(init)] if init is not None else []
        return bool(found) and all(found)
    return False


def _switches(scope: FunctionInfo) -> Iterator[ast.Call]:
    for call in scope.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("eval", "train"):
            if call.func.attr == "train" or not call.args:
                yield call


def _to_eval(resolver: Resolver, switch: Origin) -> bool | None:
    call = switch.node
    assert isinstance(call, ast.Call)
    if last_name(call.func) == "eval":
        return True
    mode = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "mode"), None)
    known = True if mode is None else resolver.truth(switch.at(mode))
    return None if known is None else not known
