"""A loader that evaluation or prediction runs over is constructed with an option for training."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Severity
from modellint.static.context import FileContext, Finding
from modellint.static.datapath.consumption import Consumption
from modellint.static.datapath.full_batches import makes_full_batches, wants_full_batches
from modellint.static.datapath.held_out import held_out_loaders
from modellint.static.datapath.loaders import (
    Loader,
    calls_to,
    decided_at,
    enclosing_names,
    is_heir,
    is_loader,
    loaders,
    names_training,
    speaks_of_training,
)
from modellint.static.datapath.reports import arrival
from modellint.static.datapath.samples import is_one_sample
from modellint.static.datapath.sums import adds_up
from modellint.static.flow.frames import site_of
from modellint.static.guards import own, walk_own
from modellint.static.merge import merged
from modellint.static.naming import snake
from modellint.static.origins import CallView, Origin, Resolver
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import called_name, parameters
from modellint.static.project.names import last_name, names_in
from modellint.static.project.trees import walk


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report loaders whose arguments `arguments` (name to position) are true and that something evaluates over.

    Options: `loaders` are qualified names; `through` maps an argument (a sampler) to the names of what brings the same
    about: true for whatever is constructed by that name, or the argument that has to be true there; `samples-wanted`
    excuses loops that look at some of the data only, and data of one sample, `rest-wanted` loops that only full batches
    fit into; with `sums-are-info` it is an info where loops only add up; with `held-out-names` a loader that nothing in
    sight runs over is taken for what it is called, or for what its data set is asked for.
    """
    options = rule.rule.detector_options
    words = [*options["arguments"], *options.get("through", {})]
    if options.get("held-out-names"):
        yield from _by_default(context, options)
    makers = {
        name
        for name in context.callees
        if name in ("partial", "cls") or "oader" in name  # equivalent: spares the search
    }
    makers |= _taking(context, options)
    silent = {name.rpartition(".")[2] for name in options.get("on-by-default", ())} & context.callees
    makers |= silent
    names: set[str] = set()
    candidates = False
    for scope in context.scopes_calling(makers):
        for call in scope.calls:
            if called_name(context.module, call) not in makers:  # equivalent: spares the search
                continue
            told = called_name(context.module, call) in silent or _may_set(call, words)
            if told or _calls_a_function(context, scope, call):  # equivalent: spares the search
                candidates = True
                names |= enclosing_names(scope, call, context.resolver)
    if not candidates:  # equivalent: spares the search
        return
    yield from merged((finding.site, finding) for finding in _findings(context, makers, names, options))


def _taking(context: FileContext, options: Mapping[str, Any]) -> set[str]:
    """Return what a file calls of the project, by name: functions that take one of the arguments, heirs of loaders."""
    words = {word for word in options["arguments"] if word in context.module.text}  # equivalent: spares the search
    found: set[str] = set()
    for scope in (context.module.body, *context.module.functions) if words else ():  # equivalent: likewise
        for call in scope.calls:
            symbol = context.project.resolve_in(scope, call.func)
            made = symbol.target if symbol is not None else None
            taken_in = {argument.arg for argument, _ in parameters(made)} if isinstance(made, FunctionInfo) else set()
            heir = isinstance(made, ClassInfo) and is_heir(
                context.project, made, options["loaders"]
            )  # equivalent: likewise
            if heir or not words.isdisjoint(taken_in):  # equivalent: spares the search
                found.add(called_name(context.module, call) or "")
    return found


def _findings(context: FileContext, makers: set[str], names: set[str], options: Mapping[str, Any]) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for loader in loaders(context, names, options["loaders"]):
        seen.update(calls_to(loader))
        uses = [use for use in loader.evaluates if not _takes_one_batch(use)]
        if options.get("rest-wanted"):
            uses = [use for use in uses if not wants_full_batches(context.resolver, loader.view, use)]
        if options.get("samples-wanted") and (any(use.partly for use in loader.uses) or _has_no_order(loader, context)):
            continue
        if uses and not _batches_by_itself(context.resolver, loader.view):
            readers = {use.scope for use in loader.uses}
            decided = _switched_on(context.resolver, loader.view, options, readers)
            if decided is not None:
                harmless = options.get("sums-are-info") and all(adds_up(use.place, use.scope) for use in uses)
                yield _finding(decided, uses, Severity.INFO if harmless else None)
    if options.get("held-out-names"):  # equivalent: no rule about shuffling gets past what excuses a shuffled loader
        for call in _named_for_tests(context, makers, options):
            if call not in seen:
                yield _unread(context, call)
        for call in _made_for_each_split(context, options):
            if call not in seen:
                yield _unread(context, call)
        for view in held_out_loaders(context, options["loaders"], seen, paired=True):
            on = _switched_on(context.resolver, view, options, ()) is not None
            if on and not makes_full_batches(context.resolver, view):
                yield _unread(context, view.node)


def _takes_one_batch(use: Consumption) -> bool:
    """Tell whether a loop ends with its first lap: an example is shown, and the last batch is never reached."""
    loop = use.place
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or not isinstance(loop.body[-1], ast.Break):
        return False
    return not any(isinstance(node, ast.Continue) for node in walk(loop))


def _batches_by_itself(resolver: Resolver, view: CallView) -> bool:
    """Tell whether a class of the project is made that takes its batches out of its data itself, and asks for no such
    option."""
    made = view.callee.symbol.target if view.callee.symbol is not None else None
    hands_out = resolver.project.method(made, "__iter__") if isinstance(made, ClassInfo) else None
    if hands_out is None:
        return False
    read = {node.attr for node in walk_own(hands_out) if isinstance(node, ast.Attribute)}
    return "dataset" in read and read.isdisjoint(_BATCHES)


_BATCHES = frozenset({"drop_last", "shuffle", "sampler", "batch_sampler", "__iter__"})
"""What a loader that reads it has its batches, or their order, from."""


def _unread(context: FileContext, call: ast.Call) -> Finding:
    """Return the finding at a loader that nothing in sight runs over."""
    return Finding(site_of(context.module, call), {"loader": ast.unparse(call.func)}, Confidence.LIKELY)


def _has_no_order(loader: Loader, context: FileContext) -> bool:
    """Tell whether a loader has one sample to hand out, which comes first in any order."""
    data = loader.view.argument("dataset", 0)
    return data is not None and is_one_sample(context.resolver, data)


def _made_for_each_split(context: FileContext, options: Mapping[str, Any]) -> Iterator[ast.Call]:
    """Yield the calls that make the loaders of all splits, with one of `arguments` written true.

    They tell training from the other splits: `{key: DataLoader(data, shuffle=key == "train", drop_last=True) for ...}`.
    """
    makers = {name for name in context.callees if "oader" in name}  # equivalent: spares the search
    for scope in context.scopes_calling(makers):
        for turn in own(scope, ast.DictComp, ast.ListComp):
            named = (each.target for each in turn.generators if not isinstance(each.iter, (ast.Tuple, ast.List)))
            given = {name for target in named for name in names_in(target)}
            for call in (node for node in walk(turn) if isinstance(node, ast.Call)):
                told = {keyword.arg for keyword in call.keywords if _is_written_true(keyword)}
                shuffle = next((keyword.value for keyword in call.keywords if keyword.arg == "shuffle"), None)
                if (
                    not told.isdisjoint(options["arguments"])
                    and shuffle is not None
                    and _asks_for_training(shuffle, given)
                ):
                    views = context.resolver.views(Origin(call, scope))
                    yield from (call for view in views if is_loader(context.resolver, view, options["loaders"]))


def _asks_for_training(test: ast.expr, given: set[str]) -> bool:
    """Tell whether a condition holds for the training data alone, by a variable of a loop: `split == "train"`."""
    match test:
        case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant("train" | "training")]):
            return name in given
    return False


def _named_for_tests(context: FileContext, makers: set[str], options: Mapping[str, Any]) -> Iterator[ast.Call]:
    """Yield the calls that make a loader of test data, by all names around, with one of `arguments` written true."""
    for scope in context.scopes_calling(makers):
        for names, value in [*_assigned(scope), *_returned(scope)]:
            called = last_name(value.func) or ""
            told = {keyword.arg for keyword in value.keywords if _is_written_true(keyword)}
            if not _MAKES_LOADER.search(called) or told.isdisjoint(options["arguments"]) or "shuffle" in told:
                continue
            data = value.args[0] if value.args else None
            named = any(_TESTS.search(snake(name)) and not names_training(name) for name in names)
            if named and (data is None or not speaks_of_training(data)):
                yield value


def _by_default(context: FileContext, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the arguments that are true by default of functions named for loaders of test data, which pass them on."""
    for scope in context.module.functions:
        name = snake(scope.name)
        if not _TESTS.search(name) or not _GIVES_DATA.search(name) or "train" in name:
            continue
        for argument, default in parameters(scope):
            on = isinstance(default, ast.Constant) and default.value is True
            if on and argument.arg in options["arguments"] and _passes_on(scope, argument.arg):
                yield Finding(context.site(argument), {"loader": scope.name}, Confidence.LIKELY)


def _passes_on(scope: FunctionInfo, name: str) -> bool:
    given = (keyword for call in scope.calls for keyword in call.keywords if keyword.arg == name)
    return any(isinstance(keyword.value, ast.Name) and keyword.value.id == name for keyword in given)


_GIVES_DATA = re.compile(r"data_?(loader|set)")


def _assigned(scope: FunctionInfo) -> Iterator[tuple[list[str], ast.Call]]:
    for node in own(scope, ast.Assign):
        names = [last_name(target) or "" for target in node.targets]
        if isinstance(node.value, ast.Call):
            yield names, node.value


def _returned(scope: FunctionInfo) -> Iterator[tuple[list[str], ast.Call]]:
    for node in own(scope, ast.Return):
        if isinstance(node.value, ast.Call):
            yield [scope.name], node.value


def _is_written_true(keyword: ast.keyword) -> bool:
    return isinstance(keyword.value, ast.Constant) and keyword.value.value is True


_MAKES_LOADER = re.compile(r"(^|_)(data_?)?loader$|Loader$", re.I)
_TESTS = re.compile(r"(^|_)(test|predict\w*|infer\w*)((data)?(loader|set))?(_|$)")


def _may_set(call: ast.Call, words: list[str]) -> bool:
    """Tell whether one of the arguments `words` of a call may be set to something that is true."""
    given = [k for k in call.keywords if k.arg is None or k.arg in words]  # equivalent: spares the search
    return len(call.args) > 2 or any(not isinstance(k.value, ast.Constant) or k.value.value is True for k in given)


def _calls_a_function(context: FileContext, scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a function of the project is called, which may be told in many ways, or have its defaults."""
    symbol = context.project.resolve_in(scope, call.func)
    return symbol is not None and isinstance(symbol.target, FunctionInfo)


class _Decided(NamedTuple):
    """The call that decides on an option of a loader, and what brings the same about where that does: a sampler.

    `value` is where a variable that the loader is given gets its value.
    """

    call: Origin
    through: Origin | None = None
    value: Origin | None = None


def _switched_on(
    resolver: Resolver, view: CallView, options: Mapping[str, Any], readers: Container[FunctionInfo]
) -> _Decided | None:
    """Return what sets one of `arguments` of a loader, or brings the same about; None where nothing does."""
    arguments, through = options["arguments"], options.get("through", {})
    by_default = is_loader(resolver, view, options.get("on-by-default", ()))
    for name, position in arguments.items():
        given = view.argument(name, position)
        if given is None and by_default and not view.opaque:
            return _Decided(view.origin)
        if given is None:
            continue
        if resolver.truth(given) is True or _is_where_no_sampler_is(given, view) or _is_on_at_first(resolver, given):
            return _Decided(decided_at(view, given, readers), value=next(iter(resolver.origins(given)), None))
    for name, makers in through.items():
        given = view.argument(name)
        for origin in resolver.origins(given) if given is not None else ():
            for made in resolver.views(origin):
                wanted = next((makers[name] for name in _names_of(resolver, made) if name in makers), None)
                argument = made.argument(wanted) if isinstance(wanted, str) else None
                if wanted is True:
                    return _Decided(view.origin, made.origin)
                if argument is not None and resolver.truth(argument) is True:
                    decided = decided_at(made, argument, readers)
                    return _Decided(view.origin if decided is made.origin else decided, made.origin)
    return None


def _names_of(resolver: Resolver, made: CallView) -> list[str]:
    """Return the name of what a call makes; of a class of the project those of the classes that it descends from."""
    target = made.callee.symbol.target if made.callee.symbol is not None else None
    return resolver.project.ancestry(target)[1] if isinstance(target, ClassInfo) else [made.dotted]


def _is_on_at_first(resolver: Resolver, given: Origin) -> bool:
    """Tell whether a variable is true as it is set at first, and false under conditions that ask for no split.

    `drop_last = True`, and `if args.data == "m4": drop_last = False`: for all other data it is true.
    """
    found = resolver.origins(given)
    values = [resolver.truth(origin) for origin in found]
    if None in values or len(values) < 2 or values[0] is not True or _has_conditions(resolver, found[0]):
        return False
    return not any(origin.unsure or _runs_for_sure(resolver, origin) for origin in found[1:])


def _has_conditions(resolver: Resolver, origin: Origin) -> bool:
    assert origin.node is not None
    return bool(resolver.conditions(origin.scope, origin.node))


def _runs_for_sure(resolver: Resolver, origin: Origin) -> bool:
    """Tell whether the assignment that a value comes from runs, as far as its conditions are known to hold."""
    assert origin.node is not None
    tests = resolver.conditions(origin.scope, origin.node)
    return all(resolver.truth(Origin(test, origin.scope, origin.activation)) is holds for test, holds in tests)


def _is_where_no_sampler_is(given: Origin, view: CallView) -> bool:
    """Tell whether an argument is `sampler is None`, of the sampler that is given as well: true on one machine."""
    sampler, node = view.argument("sampler"), given.node
    if sampler is None or sampler.node is None or not isinstance(node, ast.Compare):
        return False
    return ast.unparse(node) == f"{ast.unparse(sampler.node)} is None"


def _finding(decided: _Decided, uses: list[Consumption], severity: Severity | None) -> Finding:
    """Return the finding at the call that makes a loader, or that tells the project's function which one to make."""
    call, through, value = decided
    assert isinstance(call.node, ast.Call)
    use = next((u for u in uses if u.sure), uses[0])
    site = site_of(call.scope.module, call.node)
    related = arrival(site, site_of(use.scope.module, use.place), "evaluated over here")
    if through is not None and through.node is not None:
        related += arrival(site, site_of(through.scope.module, through.node), "by what is made here")
    if value is not None and value.node is not None:
        related += arrival(site, site_of(value.scope.module, value.node), "set here")
    confidence = Confidence.CERTAIN if use.sure else Confidence.LIKELY
    return Finding(site, {"loader": ast.unparse(call.node.func)}, confidence, severity, related=related)
