"""What data loaders are used for: the loops that train over them, and those that evaluate or predict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from modellint.static.datapath.evidence import (
    evaluates_by_name,
    gathers_statistics,
    infers,
    infers_for_its_caller,
    is_test_scope,
    looks_at_samples,
    runs_model,
    trains,
    trains_by_name,
)
from modellint.static.datapath.phases import phases
from modellint.static.datapath.sums import adds_up
from modellint.static.guards import loops_around, own, values_entered, values_of
from modellint.static.naming import TRAINING_NAME, is_test_file, is_test_module, snake
from modellint.static.origins import EVERYWHERE, Activation, Origin, Resolver
from modellint.static.project import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.names import arguments_of, is_named, last_name
from modellint.static.project.trees import walk

EVALUATION, TRAINING, OTHER = "evaluation", "training", "other"
MAX_FILES = 12
Loop: TypeAlias = "ast.For | ast.AsyncFor | ast.comprehension"
_HOOKS = {
    "train_dataloader": TRAINING,
    "val_dataloader": EVALUATION,
    "test_dataloader": EVALUATION,
    "predict_dataloader": EVALUATION,
}
_HELD_OUT = re.compile(r"(^|_)(val\w*|test\w*|eval\w*|predict\w*|dev)(_|$)")
_DRY_RUN = re.compile(r"dry|debug|smoke|quick|fast_dev|profil", re.I)
_EVALUATORS = re.compile(r"^_?(run_|do_)?(eval(uate)?|valid(ate|ation)?|test|predict|infer(ence)?)(_\w+)?$")


@dataclass(frozen=True, slots=True, eq=False)
class Consumption:
    """Something runs over `loader`. `sure`: the code shows it, not a name alone; `partly`: it may stop early."""

    kind: str
    loader: Origin
    place: ast.AST
    scope: FunctionInfo
    sure: bool = True
    partly: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A loop that runs over `over`; `root` is the statement or the comprehension. `partly`: for so many turns only."""

    over: ast.expr
    loop: ast.AST
    root: ast.AST
    partly: bool = False


class Consumptions:
    """Finds what the loaders of a project are used for, file by file."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._known: dict[ModuleInfo, tuple[list[Consumption], frozenset[Path]]] = {}
        self._receiving: dict[ModuleInfo, tuple[list[Path], frozenset[Path]]] = {}

    def around(self, module: ModuleInfo, names: Iterable[str]) -> Iterator[Consumption]:
        """Yield what happens in `module` and in the files around it."""
        for other in self.files_around(module, names):
            yield from self.of(other)

    def files_around(self, module: ModuleInfo, names: Iterable[str]) -> list[ModuleInfo]:
        """Return `module`, the files that use `names` of it or those files, and those that they hand data to."""
        names = frozenset(names)
        if self.resolver.trim():
            self._known.clear()
            self._receiving.clear()
        files = {module.path: module}
        for cls in module.classes:
            if cls.name in names:  # what a base runs over, its heirs may make
                files |= {base.module.path: base.module for base in self.resolver.project.ancestry(cls)[0]}
        wanted_first = _readers(module, names)
        queue = [(module, wanted_first | _users(module, wanted_first), 0)]
        project = self.resolver.project
        while queue:
            current, wanted, depth = queue.pop(0)
            importing = set(project.mentioning(current.imported_as, module.path, "values"))
            mentioning = (project.mentioning(name, module.path, "values") for name in wanted)
            found = {path for paths in mentioning for path in paths if path in importing}
            new = sorted(p for p in found if p not in files and not is_test_file(p))
            if len(new) > MAX_FILES or len(files) > MAX_FILES:
                continue
            for path in new:
                user = project.load(path, module.path, "values")
                if user is None:
                    continue
                files[path] = user
                if depth < 1:
                    queue.append((user, _users(user, wanted), depth + 1))
        self._hand_down(module, files)
        self.resolver.touched.update(files)
        return [files[path] for path in sorted(files)]

    def _hand_down(self, module: ModuleInfo, files: dict[Path, ModuleInfo]) -> None:
        """Add the files of the functions and classes that data is handed to: `validate(model, valid_loader)`."""
        queue = list(files.values())
        while queue and len(files) <= MAX_FILES:
            for path in self._receivers(queue.pop(0)):
                user = self.resolver.project.load(path, module.path, "values") if path not in files else None
                if user is not None:
                    files[user.path] = user
                    queue.append(user)

    def _receivers(self, module: ModuleInfo) -> list[Path]:
        """Return the files whose functions and classes `module` hands data to, tests left out."""
        if module not in self._receiving:
            with self.resolver.gathering() as touched:
                targets = [
                    target
                    for scope in (module.body, *module.functions)
                    for call in scope.calls
                    if any(_speaks_of_data(given) or _is_made_a_loader(given, scope) for given in arguments_of(call))
                    or any(k.arg is not None and _DATA.search(k.arg) for k in call.keywords)
                    for target in self._called(call, scope)
                ]
            paths = (holder.module.path for target in targets for holder in self._holders(target))
            found = [path for path in dict.fromkeys(paths) if not is_test_file(path)]
            self._receiving[module] = found, frozenset(touched)
        self.resolver.touched |= self._receiving[module][1]
        return self._receiving[module][0]

    def _called(self, call: ast.Call, scope: FunctionInfo) -> list[object]:
        """Return what a call calls: a definition, or the methods of an object that the project constructs."""
        symbol = self.resolver.project.resolve_in(scope, call.func)
        if symbol is not None or not isinstance(call.func, ast.Attribute):
            return [symbol.target] if symbol is not None else []
        return [method for method, _ in self.resolver.methods(Origin(call, scope), call.func)]

    def _holders(self, target: object) -> list[FunctionInfo] | list[ClassInfo]:
        """Return what is called: a function, or a class with those it inherits from."""
        if isinstance(target, ClassInfo):
            return self.resolver.project.ancestry(target)[0]
        return [target] if isinstance(target, FunctionInfo) else []

    def of(self, module: ModuleInfo) -> list[Consumption]:
        """Return what happens in one file."""
        if module not in self._known:
            with self.resolver.gathering() as touched:
                found = [] if is_test_module(module) else list(self._all(module))
            self._known[module] = found, frozenset(touched)
        self.resolver.touched |= self._known[module][1]
        return self._known[module][0]

    def _all(self, module: ModuleInfo) -> Iterator[Consumption]:
        for scope in [module.body, *module.functions]:
            if is_test_scope(scope):
                continue
            yield from self._hooks(scope)
            for call in scope.calls:
                yield from self._handed(call, scope)
            runs = [
                run
                for run in (*self._loops(scope), *_drawing(scope))
                if _uses_model(run.root, scope)
                or evaluates_by_name(scope.name)
                or _asks_step(run)
                or _asks_losses(run, scope)
            ]
            if runs:
                for activation in self._activations(scope):
                    for run in runs:
                        for inner in phases(self.resolver, run.loop, scope, activation):
                            yield from self._run(run, scope, inner)

    def _activations(self, scope: FunctionInfo) -> list[Activation]:
        return [EVERYWHERE] if scope.is_body or scope.node is None else self.resolver.activations(scope)

    def _loops(self, scope: FunctionInfo) -> Iterator[_Run]:
        for loop, _ in self.resolver.definitions(scope).loops:
            if _is_over_data(loop):
                yield _Run(loop.iter, loop, _whole(loop, scope))

    def _run(self, run: _Run, scope: FunctionInfo, activation: Activation) -> Iterator[Consumption]:
        resolver, root = self.resolver, run.root
        partly = run.partly or self._may_stop(root, scope, activation) or looks_at_samples(scope)
        kind, sure = OTHER, True
        if trains(resolver, scope, root, activation):
            kind = TRAINING
        elif not runs_model(root, scope):
            named = (evaluates_by_name(scope.name) or _asks_losses(run, scope)) and infers(
                resolver, scope, root, activation
            )
            if named or _evaluates_held_out(run, scope) or _asks_step(run):
                kind, sure = EVALUATION, False  # the forward is in a helper
        else:
            if infers(resolver, scope, root, activation) or infers_for_its_caller(resolver, scope, activation):
                kind = EVALUATION
            elif not scope.is_body and evaluates_by_name(scope.name):
                kind, sure = EVALUATION, False
            elif scope.is_body and evaluates_by_name(scope.module.path.stem) and _TRAINS.isdisjoint(scope.callees):
                kind, sure = EVALUATION, False  # a script that is called `evaluate.py`
            elif not scope.is_body and TRAINING_NAME.search(snake(scope.name)):
                kind = TRAINING
        if kind == EVALUATION and (run.partly or gathers_statistics(root, scope)):
            kind = OTHER  # no evaluation of all there is, or of nothing: batch norms gather their statistics anew
        for iterated in _iterated(run.over):
            yield Consumption(kind, Origin(iterated, scope, activation), root, scope, sure, partly)

    def _may_stop(self, root: ast.AST, scope: FunctionInfo, activation: Activation) -> bool:
        """Tell whether a loop is left early on purpose; a dry run is left early, too, but is no evaluation.

        A limit that the caller leaves at None (`if limit is not None and i >= limit: break`) stops nothing.
        """
        return any(
            not any(_DRY_RUN.search(ast.unparse(test)) for test, _ in self.resolver.conditions(scope, node))
            and self.resolver.runs(scope, node, activation)
            for node in walk(root)
            if isinstance(node, (ast.Break, ast.Return))
        )

    def _hooks(self, scope: FunctionInfo) -> Iterator[Consumption]:
        """A framework asks a class for its loaders."""
        if scope.cls is not None and scope.name in _HOOKS and scope.node is not None:
            for value in self.resolver.definitions(scope).returns:
                for loader in _listed(value, scope):
                    yield Consumption(_HOOKS[scope.name], Origin(loader, scope), loader, scope)

    def _handed(self, call: ast.Call, scope: FunctionInfo) -> Iterator[Consumption]:
        """A loader goes to a function out of sight that trains or evaluates, as its name says."""
        name = last_name(call.func)
        if name is None:
            return
        if name == "next" and call.args and isinstance(call.args[0], ast.Call) and last_name(call.args[0]) == "iter":
            yield Consumption(OTHER, Origin(call.args[0], scope), call, scope, partly=True)
        text = snake(name)
        fits = text == "fit"
        evaluates = _EVALUATORS.match(text) or _runs_evaluator(call)
        kind = EVALUATION if evaluates else TRAINING if trains_by_name(text) else OTHER
        if (kind == OTHER and not fits) or self._is_in_sight(call, scope):
            return
        for position, value in enumerate(call.args):
            if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
                third = position == 2 and _is_trainer(call.func)
                held_out = fits and (third or _HELD_OUT.search(snake(last_name(value) or "")))
                yield Consumption(EVALUATION if held_out else kind, Origin(value, scope), value, scope)
        for keyword in call.keywords:
            if keyword.arg is not None and re.search("load|data", keyword.arg):
                held_out = fits and _HELD_OUT.search(snake(keyword.arg))
                yield Consumption(EVALUATION if held_out else kind, Origin(keyword.value, scope), keyword.value, scope)

    def _is_in_sight(self, call: ast.Call, scope: FunctionInfo) -> bool:
        symbol = self.resolver.project.resolve_in(scope, call.func)
        if symbol is not None and symbol.target is not None:
            return True
        return isinstance(call.func, ast.Attribute) and bool(self.resolver.methods(Origin(call, scope), call.func))


_TRAINS = frozenset({"backward", "step", "fit", "zero_grad"})
_DATA = re.compile(r"load(er)?s?$|(^|_)(iter(ator)?|generator|dls?)$|^(train|val(id(ation)?)?|dev|test|eval|batches)$")


def _speaks_of_data(value: ast.expr) -> bool:
    """Tell whether an argument is called like a loader: `val`, `self.test_iter`, `loaders["val"]`, `make_loader()`."""
    while isinstance(value, (ast.Subscript, ast.Call)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, (ast.Name, ast.Attribute)) and _DATA.search(snake(last_name(value) or "")) is not None


def _is_made_a_loader(value: ast.expr, scope: FunctionInfo) -> bool:
    """Tell whether a variable holds what a loader's constructor made here, whatever it is called: `gen, gen_val`."""
    made = values_of(scope, value.id) if isinstance(value, ast.Name) else []
    return any(isinstance(one, ast.Call) and "oader" in (last_name(one.func) or "") for one in made)


_RUNNERS = re.compile(r"^(evaluator|validator|tester|predictor|val_engine|eval_engine)$|_(evaluator|validator)$")


def _runs_evaluator(call: ast.Call) -> bool:
    """Tell whether an engine that evaluates is run over data that is called held out: `evaluator.run(val_loader)`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "run" or not call.args:
        return False
    held_out = _HELD_OUT.search(snake(last_name(call.args[0]) or "")) is not None
    return held_out and _RUNNERS.search(snake(last_name(func.value) or "")) is not None


def _is_trainer(method: ast.expr) -> bool:
    """Tell whether a `fit` is a trainer's: it takes the model, the loader to train with, that to validate with."""
    return isinstance(method, ast.Attribute) and "trainer" in (last_name(method.value) or "").lower()


def _evaluates_held_out(run: _Run, scope: FunctionInfo) -> bool:
    """Tell whether a function that is called for evaluation runs over data that is called held out."""
    return _VALIDATES.match(snake(scope.name)) is not None and _is_over_held_out(run)


def _asks_step(run: _Run) -> bool:
    """Tell whether a loop over data that is called held out leaves each batch to a step of an evaluation."""
    calls = (node for node in walk(run.root) if isinstance(node, ast.Call))
    return _is_over_held_out(run) and any(_STEP.match(snake(last_name(call.func) or "")) for call in calls)


def _asks_losses(run: _Run, scope: FunctionInfo) -> bool:
    """Tell whether a loop over data that is called held out leaves each batch to what gives its loss.

    Where that is without gradients and only summed up, nothing is learned from it: `loss = self._loss(x, y)`.
    """
    if not _is_over_held_out(run) or not adds_up(run.root, scope):
        return False
    called = (node.func for node in walk(run.root) if isinstance(node, ast.Call))
    methods = (func for func in called if isinstance(func, ast.Attribute))
    return any(is_named(func.value, scope.self_name) and _GIVES_LOSS.search(snake(func.attr)) for func in methods)


def _is_over_held_out(run: _Run) -> bool:
    names = (n.id if isinstance(n, ast.Name) else n.attr for n in walk(run.over) if isinstance(n, _NAMED))
    return any(_HELD_OUT.search(snake(name)) for name in names)


_STEP = re.compile(r"^_?(eval\w*|val\w*|test|predict\w*|infer\w*)_(step|batch|one_batch|iteration)$")

_GIVES_LOSS = re.compile(r"(^|_)(loss(es)?|log_probs?|elbo)$")


_NAMED = (ast.Name, ast.Attribute)
_VALIDATES = re.compile(r"^_?(run_|do_)?(eval|evaluate|evaluation|validate|validation|predict|test)(_epoch|_loop)?$")


def _listed(value: ast.expr, scope: FunctionInfo) -> Iterator[ast.expr]:
    """Yield a value, and what is in it where it is a list that is written out or filled: several loaders at once."""
    yield value
    if isinstance(value, (ast.List, ast.Tuple)):
        yield from value.elts
    elif isinstance(value, ast.ListComp):
        yield value.elt
    elif isinstance(value, ast.Name):
        for call in scope.calls_of("append"):
            if call.args and ast.unparse(call.func) == f"{value.id}.append":
                yield call.args[0]


def _users(module: ModuleInfo, names: frozenset[str]) -> frozenset[str]:
    """Return the functions and classes of `module` that use one of `names`, or others that do."""
    known, found = names, frozenset[str]()
    while known:
        using = (function for function in module.functions if not known.isdisjoint(function.callees))
        known = frozenset(map(_known_as, using)) - found
        found |= known
    return found


def _readers(module: ModuleInfo, names: frozenset[str]) -> frozenset[str]:
    """Return the functions and classes of `module` that read one of its globals `names`."""
    if names.isdisjoint(module.body.stores):
        return names
    nodes = ((function, node) for function in module.functions for node in own(function, ast.Name))
    return names | {_known_as(function) for function, node in nodes if node.id in names}


def _known_as(function: FunctionInfo) -> str:
    """Return the name by which other files reach what a function gives: its own, or that of its class."""
    return function.cls.name if function.cls is not None else function.name


def _is_over_data(loop: Loop) -> bool:
    iterated = loop.iter
    if isinstance(iterated, (ast.List, ast.Tuple, ast.Constant, ast.Set, ast.Dict)):
        return False
    return not (isinstance(iterated, ast.Call) and last_name(iterated.func) in ("range", "trange", "count"))


def _drawing(scope: FunctionInfo) -> Iterator[_Run]:
    """Yield the loops that draw each batch by hand: `batches = iter(loader)`, and `batch = next(batches)` in each turn.

    A loop of so many turns ends early, unless these are as many as there are batches.
    """
    for call in scope.calls_of("next"):
        drawn = call.args[0] if call.args and isinstance(call.func, ast.Name) else None
        for value in values_of(scope, drawn.id) if isinstance(drawn, ast.Name) else ():
            if isinstance(value, ast.Call) and last_name(value) in _ITERATES and value.args:
                for loop in loops_around(scope, call)[-1:]:
                    counted = isinstance(loop, ast.For) and not _counts_batches(loop.iter, scope)
                    yield _Run(value.args[0], loop, loop, counted)


_ITERATES = frozenset({"iter", "cycle"})


def _counts_batches(node: ast.expr, scope: FunctionInfo, hops: int = 3) -> bool:
    """Tell whether a loop is said to have as many turns as something is long, perhaps in a variable: `total`."""
    for inner in walk(node):
        if isinstance(inner, ast.Call) and last_name(inner) == "len":
            return True
        values = values_entered(scope, inner.id) if isinstance(inner, ast.Name) and hops else []
        if any(_counts_batches(value, scope, hops - 1) for value in values):
            return True
    return False


def _whole(loop: Loop, scope: FunctionInfo) -> ast.AST:
    """Return the statement or the comprehension that `loop` is."""
    if not isinstance(loop, ast.comprehension):
        return loop
    for statement in scope.body:
        for node in walk(statement):
            if loop in getattr(node, "generators", ()):
                return node
    return loop.iter


def _uses_model(root: ast.AST, scope: FunctionInfo) -> bool:
    return runs_model(root, scope) or any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in walk(root))


def _iterated(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what a loop may run over: the expression itself, and what progress bars and counters in it are given."""
    yield node
    if isinstance(node, ast.Call):
        for given in node.args:
            if isinstance(given, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
                yield from _iterated(given)
