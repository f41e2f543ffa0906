"""What a model is given at inference was drawn at random: an augmentation, or a preprocess made for training."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.comments import says
from modellint.static.context import FileContext, Finding
from modellint.static.datapath.evidence import CORRUPTS, REPEATS, is_forward
from modellint.static.datapath.held_out import held_out_loaders
from modellint.static.datapath.inputs import applied, inference_forwards, training_forwards
from modellint.static.datapath.loaders import Loader, calls_to, enclosing_names, loaders
from modellint.static.datapath.reports import arrival
from modellint.static.datapath.taken import Way, taken_at, ways
from modellint.static.datapath.training import training_data
from modellint.static.datapath.transforms import Randomness, Transforms
from modellint.static.flow.frames import site_of
from modellint.static.flow.values import Site
from modellint.static.guards import path_to
from modellint.static.merge import merged
from modellint.static.naming import snake
from modellint.static.origins import Activation, Origin
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import called_name
from modellint.static.project.names import arguments_of

_AROUND = 2
"""So many parts of a path tell what a file is about: its own name, and that of its folder."""

_AT_MODEL = "reaches the model here"

Found = tuple[Randomness, Site, str, Confidence]
"""What was found, with the place where it arrives, what that is, and how sure it is."""


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report random transforms that reach an inference input, over a loader or directly.

    Options: `loaders` and `random` are qualified names (with `*`), `deterministic` exceptions to the latter;
    `deterministic-when` says which of them draw nothing with `p=1`, or with arguments that leave nothing to draw;
    `training-flags` are factories with the argument that asks for augmentation, `training-preprocess` factories with
    the place of the training preprocess in what they return; `words` are the last names of all of them.
    """
    options = rule.rule.detector_options
    makers = set(filter(_first_cut(tuple(options["words"])), context.callees))
    if not makers:  # equivalent: spares the search
        return
    transforms = Transforms(context.resolver, options)
    names: set[str] = set()
    makes = False
    for scope in context.scopes_calling(makers):
        for call in scope.calls:
            name = called_name(context.module, call)
            fits = name in makers and transforms.knows(context.qualified(scope, call.func) or "")  # equivalent: faster
            if fits:  # equivalent: spares the search
                makes = True
                names |= enclosing_names(scope, call, context.resolver)
    if not makes:  # equivalent: spares the search
        return
    if any(CORRUPTS.search(snake(name)) for name in context.module.path.with_suffix("").parts[-_AROUND:]):
        return
    over = list(loaders(context, names, options["loaders"]))
    known = {call for loader in over for call in calls_to(loader)}
    seen = [*_through_loaders(context, transforms, over, known, options), *_direct(context, transforms, names)]
    found = [one for one in seen if not _is_said_to_be_meant(one[0].scope, one[0].node)]
    if found:  # equivalent: spares the search
        served = ways(context.resolver, _for_training(context, transforms, names, (over, known), options))
        yield from _findings(context, transforms, found, served)


def _findings(
    context: FileContext, transforms: Transforms, found: list[Found], served: Mapping[ast.expr, list[Way]]
) -> Iterator[Finding]:
    """Yield one finding for each place where evaluation takes what serves training, and one a transform elsewhere."""
    taken: dict[Site, tuple[Origin, list[Found]]] = {}
    alone: list[Finding] = []
    for one in found:
        place = taken_at(context.resolver, transforms, one[0], served)
        if place is None or place.node is None:
            alone.append(_finding(one, None))
        elif place.scope.module is not context.module or one[0].scope.module is not context.module:
            alone.append(_finding(one, site_of(place.scope.module, place.node)))
        elif not _is_said_to_be_meant(place.scope, place.node):
            taken.setdefault(site_of(context.module, place.node), (place, []))[1].append(one)
    yield from merged((finding.site, finding) for finding in alone)
    for site, (place, ones) in taken.items():
        yield _finding_at(site, place, ones)


def _finding(seen: Found, taken: Site | None) -> Finding:
    found, use, arrives, confidence = seen
    site = site_of(found.scope.module, found.node)
    places = () if taken is None else ((taken, "evaluation takes it here, and training as well"),)
    return Finding(site, {"what": found.what}, confidence, related=places + arrival(site, use, arrives))


def _finding_at(site: Site, place: Origin, ones: list[Found]) -> Finding:
    """Return the finding for what serves training, too, where evaluation takes it; the surest of `ones` tells why."""
    drawn = {site_of(found.scope.module, found.node): found.what for found, *_ in ones}
    _, use, arrives, confidence = max(ones, key=lambda one: one[3].rank)
    assert place.node is not None
    what = ", ".join(dict.fromkeys(drawn[one] for one in sorted(drawn)))
    message = (
        f"`{ast.unparse(place.node)}` serves training as well: it changes what the model sees at random ({what}),"
        " and its result reaches inference"
    )
    related = tuple((one, f"{drawn[one]} draws here") for one in sorted(drawn))
    return Finding(site, {}, confidence, message=message, related=related + arrival(site, use, arrives))


def _is_said_to_be_meant(scope: FunctionInfo, node: ast.expr) -> bool:
    """Tell whether a comment says, where a transform or its pipeline is made or taken: test-time augmentation."""
    path = path_to(scope, node)
    made = next((node for node in reversed(path) if isinstance(node, ast.stmt)), None)
    return made is not None and says(scope.module, made, _AT_TEST_TIME)


_AT_TEST_TIME = re.compile(r"^(?!.*\b(no|not|without|instead)\b).*(\bTTA\b|test[- ]time[- ]aug)", re.I)


@cache
def _first_cut(words: tuple[str, ...]) -> Callable[[str], bool]:
    """Return what tells cheaply whether a last name may be one of `words`, which may end in `*`."""
    exact = frozenset(words)
    beginnings = tuple(word[:-1] for word in words if word.endswith("*"))  # equivalent: a first cut may keep more
    return lambda name: name in exact or name.startswith(beginnings)


def _through_loaders(
    context: FileContext,
    transforms: Transforms,
    over: Iterable[Loader],
    known: Container[ast.AST],
    options: Mapping[str, Any],
) -> Iterator[Found]:
    for loader in over:
        if any(REPEATS.search(snake(name)) for name in loader.names | {use.scope.name for use in loader.uses}):
            continue
        uses = [use for use in loader.evaluates if not use.partly or use.sure]
        if not uses:
            continue
        use = next((u for u in uses if u.sure), uses[0])
        site = site_of(use.scope.module, use.place)
        dataset = loader.view.argument("dataset", 0)
        within = transforms.within(dataset) if dataset is not None else ()
        for found in [*transforms.flagged(loader.view), *within]:
            yield found, site, _AT_MODEL, Confidence.CERTAIN if use.sure else Confidence.LIKELY
    for view in held_out_loaders(context, options["loaders"], known):
        dataset = view.argument("dataset", 0)
        site = site_of(context.module, view.node)
        for found in transforms.within(dataset) if dataset is not None else ():
            yield found, site, "handed out for evaluation here", Confidence.LIKELY


def _direct(context: FileContext, transforms: Transforms, names: set[str]) -> Iterator[Found]:
    for call, scope, activation in _forwards(context, names, inference_forwards):
        if scope.name == "forward" and scope.cls is not None and context.classes.is_module(scope.cls):
            continue  # views for a teacher: whether the whole module infers, its callers tell
        for found in _before(context, transforms, call, scope, activation):
            yield found, site_of(scope.module, call), _AT_MODEL, Confidence.CERTAIN


def _for_training(
    context: FileContext,
    transforms: Transforms,
    names: set[str],
    loaded: tuple[list[Loader], set[ast.AST]],
    options: Mapping[str, Any],
) -> Iterator[Randomness]:
    """Yield the random transforms that training is served by."""
    for data in training_data(context, *loaded, options["loaders"]):
        yield from transforms.within(data)
    for call, scope, activation in _forwards(context, names, training_forwards):
        yield from _before(context, transforms, call, scope, activation)


def _forwards(
    context: FileContext, names: set[str], kind: Callable[..., Iterator[tuple[ast.Call, FunctionInfo, Activation]]]
) -> Iterator[tuple[ast.Call, FunctionInfo, Activation]]:
    """Yield the forwards of a kind in this file, and in those around it."""
    for module in context.consumptions.files_around(context.module, names):
        # equivalent: of another file the flow has seen nothing, unless a call stands at the very same row and column
        known = context.is_forward if module is context.module else is_forward  # equivalent: see above
        yield from kind(context.resolver, module, known)


def _before(
    context: FileContext, transforms: Transforms, call: ast.Call, scope: FunctionInfo, activation: Activation
) -> Iterator[Randomness]:
    """Yield the random transforms that are applied to what a forward is given."""
    for given in arguments_of(call):
        value = given.value if isinstance(given, ast.Starred) else given
        for func in applied(context.resolver, Origin(value, scope, activation)):
            helpers = tuple((one, one) for one in _calls_between(func, activation))
            yield from (replace(found, links=helpers + found.links) for found in transforms.within(func))


def _calls_between(func: Origin, activation: Activation) -> list[Origin]:
    """Return the calls of helpers that lead from an activation to where `func` is applied, the outermost first."""
    calls: list[Origin] = []
    inner = func.activation
    while inner.call is not None and inner.key != activation.key:
        calls.insert(0, inner.call)
        inner = inner.call.activation
    return calls
