"""Which draws a forward makes: in modules whose job is not to draw, and not only where the mode or an argument asks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.static.context import FileContext
from modellint.static.detectors.latent_draws import read_in
from modellint.static.guards import (
    MODE_NAME,
    assignments,
    conditions,
    follows_mode,
    never_reached,
    own,
    path_to,
    speaks_of_mode,
    tied_to_mode,
    unnegated,
    values_of,
)
from modellint.static.naming import is_test_file
from modellint.static.narrowing import attribute_of
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import parameters
from modellint.static.project.names import arguments_of, last_name, names_in
from modellint.static.project.trees import walk

_JOB = re.compile(
    r"Diffus|DDPM|DDIM|Ddpm|Ddim|SDE|Langevin|Sampler|Sampling|Generat(or|ive)|Polic|Actor|Agent|Augment|Random[A-Z]|^Random$|"
    r"Jitter|Intensity|Stochastic(?!Depth)|Crop|Flip|Blur|Mix[Uu]p|CutMix|Cutmix|Cut[Oo]ut|Planner|Bayes|MonteCarlo|^MC|Loss|Criterion|Flow|Discriminator|Env|EBM|"
    r"LSH|MAE|Mask|Target|MIM|Pretrain|Contrast|Penalty|Regulari[sz]|CLR|MoCo|BYOL|Distribution|Prior|Latent|Denois|Initiali[sz]|Memory|Schedul|"
    r"Explain|Sample|Resize|Transform$|Dummy|Gumbel|GAN(?![a-z])|Quanti[sz]|Codebook|Warp|Perturb|Advers|Aug(?![a-z])|Mine(?![a-z])|Estimator"
)
_JOB_FOLDER = re.compile(
    r"^(augment\w*|\w*mentations|(\w+_)?aug(ment\w*)?|data_aug\w*|spec_?aug\w*|loss(es)?|bayes\w*|transforms?|\w*_transforms|diffusion\w*|samplers?|sampling|explain\w*|discriminators?|critics?)$"
)
_JOB_METHOD = re.compile(
    r"sampl|generat|random|few_?shot|mask|augment|loss|negative|shuffle|init(?!_?(hidden|state|h0|lstm|gru|rnn))|reset|select_action|act$|permut|corrupt|perturb|dump|visual"
)
_CORRUPTS = re.compile(r"(^|_)(neg\w*|corrupt\w*|shuffled?|perm\w*|\w*seed)(_|$)")
_CONTRASTS = re.compile(r"(^|_)(negatives?|corrupt\w*|shuf\w*)(_|$)")
_WORK = re.compile(r"loss|criterion|cross_entropy|nll")


_NOISY = re.compile(r"Noisy\w*(Linear|Conv|Net|Dense)")


def is_noise_of_weights(cls: ClassInfo, method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a layer named for noise draws it for what it holds: the noisy networks of reinforcement learning.

    Noise in the shape of what its forward is given is added to the input, by a layer of any name.
    """
    given = {argument.arg for argument, _ in parameters(method)} if method.name == "forward" else set[str]()
    like = [call.args[0]] if call.args and (last_name(call.func) or "").endswith("_like") else []
    of_input = any(isinstance(node, ast.Name) and node.id in given for node in like)
    return _NOISY.search(cls.name) is not None and not of_input


_SKIPS = re.compile(r"drop|skip|surviv")
_DROPOUT = re.compile(r"Drop_?[Oo]ut")
THROWN = frozenset({"rand", "rand_like", "bernoulli", "bernoulli_", "uniform_", "binomial", "random_sample"})
"""The last names of the draws that a dropout is made of."""


def is_dropout(name: str, call: ast.Call) -> bool:
    """Tell whether a call draws what a class, by its name a dropout, drops."""
    return _DROPOUT.search(name) is not None and last_name(call) in THROWN


def classes_that_answer(context: FileContext) -> Iterator[ClassInfo]:
    """Yield the modules of a file whose job, by their names and the file's, is not to draw."""
    path = context.module.path
    if is_test_file(path) or any(_JOB_FOLDER.search(part.lower()) for part in (path.stem, *path.parts[-3:-1])):
        return
    for cls in context.module_classes():
        if not _JOB.search(cls.name):
            yield cls


_NOISE = re.compile(r"(^|_)noise(_|$)")


def _hands_out_noise(method: FunctionInfo) -> bool:
    """Tell whether noise, by its name, is one of several results: a source of signals, which callers know as one."""
    returned = (node.value for node in own(method, ast.Return) if isinstance(node.value, ast.Tuple))
    return any(isinstance(part, ast.Name) and _NOISE.search(part.id) for value in returned for part in value.elts)


_LOSS = re.compile(r"(^|_)(loss(es)?|mse|nll|elbo)$")


def _returns_loss(forward: FunctionInfo) -> bool:
    """Tell whether a loss, by its name or by how it is made, is what a forward returns, or the first of its results."""
    values = [node.value for node in own(forward, ast.Return)]
    firsts = [value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value for value in values if value]
    if any(_LOSS.search(node.id) for first in firsts for node in walk(first) if isinstance(node, ast.Name)):
        return True
    drawn = {name for name, value in assignments(forward) if (last_name(value) or "").startswith("rand")}
    return any(_is_error(forward, first, drawn) for first in firsts)


def _is_error(forward: FunctionInfo, value: ast.expr, drawn: set[str]) -> bool:
    """Tell whether a number is the mean of what a network made of noise that was `drawn`, less that, squared.

    `((noise - self.net(x + noise)) ** 2).mean()`, by a variable for the errors of each sample as well.
    """
    match value:
        case ast.Call(ast.Attribute(ast.Name(name), "mean" | "sum"), [], []):
            return any(_is_reduced_square(made, drawn) for made in values_of(forward, name))
        case ast.Call(_, [], []):
            return _is_reduced_square(value, drawn)
    return False


def _is_reduced_square(value: ast.expr, drawn: set[str]) -> bool:
    match value:
        case ast.Call(
            ast.Attribute(ast.BinOp(ast.BinOp(op=ast.Sub()) as less, ast.Pow(), ast.Constant(2)), "mean" | "sum")
        ):
            return not drawn.isdisjoint(names_in(less))
    return False


def _computes_loss(forward: FunctionInfo) -> bool:
    """Tell whether a forward calls what is named for a loss, and not in training mode alone."""
    named = (call for call in forward.calls if _WORK.search(last_name(call.func) or ""))
    return any(not any(_is_training(test, holds) for test, holds in conditions(forward, call)) for call in named)


def _is_training(test: ast.expr, holds: bool) -> bool:
    """Tell whether a condition, or its contrary, says `self.training`."""
    test, holds = unnegated(test, holds)
    return isinstance(test, ast.Attribute) and test.attr == "training" and holds


def run_by_forward(cls: ClassInfo) -> list[FunctionInfo]:
    """Return forward and the methods of the class that it calls in every mode; none where it computes its own loss."""
    start = cls.methods.get("forward")
    if start is None or start.node is None or _computes_loss(start) or _returns_loss(start):
        return []
    if any(_CONTRASTS.search(name) for name, _ in assignments(start)):
        return []  # it makes negative examples beside the positive ones
    if "grad" in start.callees:
        return []  # it differentiates by itself: a term of a loss
    if _hands_out_noise(start):
        return []
    found = [start]
    for method in found:
        for call in method.calls:
            func = call.func
            if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
                continue
            other = cls.methods.get(func.attr) if func.value.id == method.self_name else None
            if other is None or _JOB_METHOD.search(other.name) or _hands_out_noise(other) or _registers(other):
                continue
            if other not in found and not guarded(method, call):  # equivalent: without it, recursion never ends
                found.append(other)
    return found


def _registers(method: FunctionInfo) -> bool:
    """Tell whether a method draws what the module keeps from then on, when it is first run."""
    return not {"register_buffer", "register_parameter", "Parameter"}.isdisjoint(method.callees)


def _tells(statement: ast.stmt) -> bool:
    """Tell whether a statement prints or logs something, and does nothing else."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call) in _TELLS


_TELLS = frozenset({"print", "pprint", "debug", "info", "warning", "log"})


def guarded(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw happens, or counts, only in training mode or where an argument asks for it."""
    if any(_excuses(method, test) or _asks_the_system(test) for test, _ in conditions(method, call)):
        return True
    if _counts_for_nothing(method, call):
        return True
    if never_reached(method, call) or _compared_with_argument(method, call) or _happens_once(method, call):
        return True
    if any(_asks_for_gradients(test) for test, _ in conditions(method, call)):
        return True
    statement = [node for node in path_to(method, call) if isinstance(node, ast.stmt)][-1]
    if isinstance(statement, ast.If) and not statement.orelse and all(map(_tells, statement.body)):
        return True  # now and then a line is printed
    limits = [statement.test] if isinstance(statement, (ast.If, ast.While)) else []  # `if torch.rand(1) < p:`
    numbers = _numbers_given(method, call).union(*map(names_in, limits))
    given = numbers.union(*map(names_in, arguments_of(call)))
    if any(
        name in given and _follows_mode(method, value) and (name in numbers or not _is_mere_argument(value))
        for name, value in assignments(method)
    ):
        return True  # `p = self.p if self.training else 0`, `if not self.training: p = 0`
    if any(isinstance(node, ast.Attribute) and node.attr == "training" for node in walk(statement)):
        return True  # `x + noise * self.training`
    drawn = statement.targets[0] if isinstance(statement, ast.Assign) else call.args[0] if call.args else call.func
    if _CORRUPTS.search(ast.unparse(drawn)):
        return True  # negative examples of a contrastive loss
    if isinstance(statement, ast.Assign):
        names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
        return _used_in_training_only(method, names, statement) or _becomes_weight(method, names)
    return False


def _numbers_given(method: FunctionInfo, call: ast.Call) -> set[str]:
    """Return the variables in the arguments of a draw that may say how much is drawn, and how strongly.

    Not the tensors: what a part of the module is run on, `x` of `torch.randn_like(x)` and `torch.rand(x.shape)`.
    """
    if attribute_of(call.func, method.self_name or "") is not None:
        return set()
    like = (last_name(call.func) or "").endswith("_like")
    arguments = [*call.args[like:], *(keyword.value for keyword in call.keywords)]
    return set[str]().union(*map(read_in, arguments))


def _is_mere_argument(value: ast.expr) -> bool:
    """Tell whether a value is a variable under another name, and by its name no mode."""
    return isinstance(value, ast.Name) and MODE_NAME.search(value.id) is None


def _follows_mode(method: FunctionInfo, value: ast.expr) -> bool:
    """Tell whether a value is picked by the mode, or is a constant that the mode puts in place of another one."""
    if speaks_of_mode(method, value):
        return True
    return isinstance(value, ast.Constant) and any(
        speaks_of_mode(method, test) for test, _ in conditions(method, value)
    )


def _becomes_weight(method: FunctionInfo, names: set[str]) -> bool:
    """Tell whether what was drawn is what a parameter is made of: `nn.Parameter(drawn)`, `PyroParam(drawn)`."""
    return any(
        isinstance(argument, ast.Name) and argument.id in names
        for call in method.calls
        if (last_name(call.func) or "").endswith(("Param", "Parameter"))
        for argument in call.args
    )


def _happens_once(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw sets something up once: `if not self.ready: ...; self.ready = True`.

    Or what is None until then: `if self.shape is None: self.shape = x.shape`.
    """
    path = path_to(method, call)
    for branch in path:
        if isinstance(branch, ast.If):
            asked = {node.attr for node in walk(branch.test) if isinstance(node, ast.Attribute)}
            within = any(node in branch.body for node in path)
            unset = within and isinstance(branch.test, ast.Compare) and isinstance(branch.test.ops[0], ast.Is)
            made = (s for s in branch.body if isinstance(s, ast.Assign))
            flags = (s for s in made if isinstance(s.value, ast.Constant) or (unset and call not in walk(s.value)))
            if any(isinstance(target, ast.Attribute) and target.attr in asked for s in flags for target in s.targets):
                return True
    return False


def _excuses(method: FunctionInfo, test: ast.expr) -> bool:
    """Tell whether a condition ties a draw to the mode, or to what whoever runs the model asks for."""
    test, _ = unnegated(test)
    if isinstance(test, ast.Name) and test.id in {argument.arg for argument, _ in parameters(method)}:
        return test.id in _deciding_arguments(method)
    return follows_mode(method, test) or _asks_argument(method, test)


def _asks_the_system(test: ast.expr) -> bool:
    """Tell whether a condition asks for a variable of the environment: somebody looks for a fault."""
    return any(isinstance(node, ast.Attribute) and node.attr in ("getenv", "environ") for node in walk(test))


def _counts_for_nothing(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw stands in for an input in a branch that multiplies by zero: it gives parameters a graph."""
    path = path_to(method, call)
    branches = [branch for branch in path if isinstance(branch, ast.If)]
    block = next((b for branch in branches[-1:] for b in (branch.body, branch.orelse) if any(s in path for s in b)), [])
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and any(isinstance(side, ast.Constant) and side.value == 0 for side in (node.left, node.right))
        for statement in block
        for node in walk(statement)
    )


def _asks_for_gradients(test: ast.expr) -> bool:
    """Tell whether a condition asks whether a tensor requires gradients: none does at inference."""
    return any(isinstance(node, ast.Attribute) and node.attr == "requires_grad" for node in walk(test))


def _compared_with_argument(method: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a draw decides by a chance that an argument gives: `random() < teacher_forcing_ratio`."""
    deciding = _deciding_arguments(method)
    return any(
        isinstance(outer, ast.Compare)
        and any(isinstance(side, ast.Name) and side.id in deciding for side in (outer.left, *outer.comparators))
        for outer in path_to(method, call)
    )


def _deciding_arguments(method: FunctionInfo) -> set[str]:
    """Return the arguments by which whoever runs the model has a say.

    The chance by which a method skips something is the module's own, unless the forward that hands it on got it from
    outside or ties it to the mode.
    """
    names = {argument.arg for argument, _ in parameters(method)} - {method.self_name}
    if method.name == "forward":
        return names
    skips = _SKIPS.search(method.name)
    return {name for name in names if not (skips or _SKIPS.search(name)) or _is_decided_by_callers(method, name)}


def _is_decided_by_callers(method: FunctionInfo, name: str) -> bool:
    """Tell whether a call of a method in its class leaves `name` out or hands on an argument of its own."""
    assert method.cls is not None
    place = [argument.arg for argument, _ in parameters(method)].index(name) - 1
    for caller in method.cls.methods.values():
        own = {argument.arg for argument, _ in parameters(caller)} - {caller.self_name}
        for call in caller.calls_of(method.name):
            given = [k.value for k in call.keywords if k.arg in (name, None)] or call.args[place : place + 1]
            if not given or any(_mentions(caller, value, own) for value in given):
                return True
    return False


def _mentions(caller: FunctionInfo, value: ast.expr, names: set[str]) -> bool:
    """Tell whether a value is made of one of `names`, itself or through a variable."""
    mentioned = names_in(value)
    return not names.isdisjoint(mentioned) or any(
        variable in mentioned and any(isinstance(node, ast.Name) and node.id in names for node in walk(given))
        for variable, given in assignments(caller)
    )


def _asks_argument(method: FunctionInfo, test: ast.expr) -> bool:
    """Tell whether a condition asks for an argument itself: its truth, `is None`, or its equality to a constant."""
    test, _ = unnegated(test)
    if isinstance(test, ast.BoolOp):
        return any(_asks_argument(method, value) for value in test.values)
    asked = test.left if isinstance(test, ast.Compare) else test
    if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Name) and len(asked.args) == 1:
        asked = asked.args[0]  # `exists(noise)`
    return isinstance(asked, ast.Name) and asked.id in _deciding_arguments(method)


def _used_in_training_only(method: FunctionInfo, names: set[str], statement: ast.stmt) -> bool:
    """Tell whether what was drawn is read under a guard only."""
    assert method.node is not None
    reads = [
        node
        for node in walk(method.node)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id in names
        and node.lineno > (statement.end_lineno or 0)
    ]
    return bool(reads) and all(_read_under_guard(method, node) for node in reads)


def _read_under_guard(method: FunctionInfo, node: ast.Name) -> bool:
    if tied_to_mode(method, node):
        return True
    return any(
        isinstance(outer, ast.expr) and outer is not node and speaks_of_mode(method, outer)
        for outer in path_to(method, node)
    )
