"""What a model is given at inference was drawn at random: an augmentation, or a preprocess made for training."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.comments import says
from modellint.static.context import FileContext, Finding
from modellint.static.datapath.evidence import CORRUPTS, REPEATS, is_forward
from modellint.static.datapath.held_out import held_out_loaders
from modellint.static.datapath.inputs import applied, inference_forwards
from modellint.static.datapath.loaders import calls_to, enclosing_names, loaders
from modellint.static.datapath.reports import arrival
from modellint.static.datapath.transforms import Randomness, Transforms
from modellint.static.flow.frames import site_of
from modellint.static.flow.values import Site
from modellint.static.guards import path_to
from modellint.static.merge import merged
from modellint.static.naming import snake
from modellint.static.origins import Origin
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
    found = [*_through_loaders(context, transforms, names, options), *_direct(context, transforms, names)]
    found = [seen for seen in found if not _is_said_to_be_meant(seen[0])]
    yield from merged((finding.site, finding) for finding in map(_finding, found))


def _finding(seen: Found) -> Finding:
    found, use, arrives, confidence = seen
    site = site_of(found.scope.module, found.node)
    return Finding(site, {"what": found.what}, confidence, related=arrival(site, use, arrives))


def _is_said_to_be_meant(found: Randomness) -> bool:
    """Tell whether a comment where a transform is made, or the whole pipeline, says: test-time augmentation."""
    path = path_to(found.scope, found.node)
    made = next((node for node in reversed(path) if isinstance(node, ast.stmt)), None)
    return made is not None and says(found.scope.module, made, _AT_TEST_TIME)


_AT_TEST_TIME = re.compile(r"^(?!.*\b(no|not|without|instead)\b).*(\bTTA\b|test[- ]time[- ]aug)", re.I)


@cache
def _first_cut(words: tuple[str, ...]) -> Callable[[str], bool]:
    """Return what tells cheaply whether a last name may be one of `words`, which may end in `*`."""
    exact = frozenset(words)
    beginnings = tuple(word[:-1] for word in words if word.endswith("*"))  # equivalent: a first cut may keep more
    return lambda name: name in exact or name.startswith(beginnings)


def _through_loaders(
    context: FileContext, transforms: Transforms, names: set[str], options: Mapping[str, Any]
) -> Iterator[Found]:
    known: set[ast.AST] = set()
    for loader in loaders(context, names, options["loaders"]):
        known.update(calls_to(loader))
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
    for module in context.consumptions.files_around(context.module, names):
        # equivalent: of another file the flow has seen nothing, unless a call stands at the very same row and column
        known = context.is_forward if module is context.module else is_forward  # equivalent: see above
        for call, scope, activation in inference_forwards(context.resolver, module, known):
            if scope.name == "forward" and scope.cls is not None and context.classes.is_module(scope.cls):
                continue  # views for a teacher: whether the whole module infers, its callers tell
            for given in arguments_of(call):
                value = given.value if isinstance(given, ast.Starred) else given
                for func in applied(context.resolver, Origin(value, scope, activation)):
                    for found in transforms.within(func):
                        yield found, site_of(scope.module, call), _AT_MODEL, Confidence.CERTAIN
