"""A loader that evaluation or prediction runs over is constructed with an option for training."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.context import FileContext, Finding
from modellint.static.datapath.consumption import Consumption
from modellint.static.datapath.loaders import Loader, enclosing_names, loaders
from modellint.static.datapath.reports import arrival
from modellint.static.flow.frames import site_of
from modellint.static.merge import merged
from modellint.static.origins import CallView, Origin, Resolver
from modellint.static.project.facts import called_name


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report loaders whose arguments `arguments` (name to position) are true and that something evaluates over.

    Options: `loaders` are qualified names; `through` maps an argument (a sampler) to the names of what brings the same
    about: true for whatever is constructed by that name, or the argument that has to be true there; `samples-wanted`
    excuses loops that look at some of the data only.
    """
    options = rule.rule.detector_options
    words = [*options["arguments"], *options.get("through", {})]
    makers = {name for name in context.callees if name == "partial" or "oader" in name}  # equivalent: spares the search
    names: set[str] = set()
    candidates = False
    for scope in context.scopes_calling(makers):
        for call in scope.calls:
            if called_name(context.module, call) in makers and _may_set(call, words):  # equivalent: spares the search
                candidates = True
                names |= enclosing_names(scope, call, context.resolver)
    if not candidates:  # equivalent: spares the search
        return
    yield from merged((finding.site, finding) for finding in _findings(context, names, options))


def _findings(context: FileContext, names: set[str], options: Mapping[str, Any]) -> Iterator[Finding]:
    for loader in loaders(context, names, options["loaders"]):
        uses = loader.evaluates
        if options.get("samples-wanted") and any(use.partly for use in loader.uses):
            continue
        if uses and _is_on(context.resolver, loader.view, options):
            yield _finding(loader, uses)


def _may_set(call: ast.Call, words: list[str]) -> bool:
    """Tell whether one of the arguments `words` of a call may be set to something that is true."""
    given = [k for k in call.keywords if k.arg is None or k.arg in words]  # equivalent: spares the search
    return len(call.args) > 2 or any(not isinstance(k.value, ast.Constant) or k.value.value is True for k in given)


def _is_on(resolver: Resolver, view: CallView, options: Mapping[str, Any]) -> bool:
    arguments, through = options["arguments"], options.get("through", {})
    for name, position in arguments.items():
        given = view.argument(name, position)
        if given is None:
            continue
        if resolver.truth(given) is True or _is_where_no_sampler_is(given, view) or _is_on_at_first(resolver, given):
            return True
    for name, makers in through.items():
        given = view.argument(name)
        for origin in resolver.origins(given) if given is not None else ():
            for made in resolver.views(origin):
                wanted = makers.get(made.dotted)
                argument = made.argument(wanted) if isinstance(wanted, str) else None
                if wanted is True or (argument is not None and resolver.truth(argument) is True):
                    return True
    return False


def _is_on_at_first(resolver: Resolver, given: Origin) -> bool:
    """Tell whether a variable is true as it is set at first, and false under conditions that ask for no split.

    `drop_last = True`, and `if args.data == "m4": drop_last = False`: for all other data it is true.
    """
    found = resolver.origins(given)
    values = [resolver.truth(origin) for origin in found]
    if None in values or len(values) < 2 or values[0] is not True:
        return False
    return not any(origin.unsure or _runs_for_sure(resolver, origin) for origin in found[1:])


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


def _finding(loader: Loader, uses: list[Consumption]) -> Finding:
    use = next((u for u in uses if u.sure), uses[0])
    site = site_of(loader.view.origin.scope.module, loader.view.node)
    place = site_of(use.scope.module, use.place)
    confidence = Confidence.CERTAIN if use.sure else Confidence.LIKELY
    written = ast.unparse(loader.view.node.func)
    return Finding(site, {"loader": written}, confidence, related=arrival(site, place, "evaluated over here"))
