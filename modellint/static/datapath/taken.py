"""Where evaluation takes the random transforms that training is served by: there the mistake is, not where they are."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from modellint.static.datapath.loaders import names_held_out, names_training
from modellint.static.datapath.transforms import Randomness, Transforms
from modellint.static.origins import Origin, Resolver
from modellint.static.project.names import is_named

Way = tuple[Origin, ...]
"""The expressions from what a loader or a model is given back to what draws at random."""


def ways(resolver: Resolver, found: Iterable[Randomness]) -> dict[ast.expr, list[Way]]:
    """Return the ways that lead to each random transform of those found for training."""
    known: dict[ast.expr, list[Way]] = {}
    for one in found:
        known.setdefault(one.node, []).append(tuple(hop for hop, _ in _hops(resolver, one)))
    return known


def taken_at(
    resolver: Resolver, transforms: Transforms, found: Randomness, training: Mapping[ast.expr, list[Way]]
) -> Origin | None:
    """Return the expression by which evaluation takes a random transform that serves training as well.

    The last one on its way that training does not pass. Where a helper of both makes the data, that by which the data
    gets its pipeline there. None where the mistake is where the transform is made: nothing else is served by it, the
    data makes it for itself, or who makes it was told that it is for evaluation.
    """
    served = training.get(found.node)
    if not served:
        return None
    hops = _hops(resolver, found)
    passed = {hop.node for way in served for hop in way}
    own = [index for index, (hop, _) in enumerate(hops) if hop.node not in passed]
    holders = [index for index, (_, made) in enumerate(found.links) if transforms.holds_samples(made)]
    top = holders[-1] + 1 if holders else 0
    pairs = list(pairwise(hop for hop, _ in hops))
    chosen = own[-1] if own else None
    if chosen is None or (
        hops[chosen][1] < top and (_leads_inside(*pairs[chosen]) or _is_told(resolver, *pairs[chosen], served))
    ):
        before = [index for index, (_, link) in enumerate(hops) if link == top][:-1]
        if not before or _is_kept(hops[before[-1]][0]):
            return None
        chosen = before[-1]
    return None if _is_told(resolver, *pairs[chosen], served) else hops[chosen][0]


def _hops(resolver: Resolver, found: Randomness) -> list[tuple[Origin, int]]:
    """Return the expressions on the way to a random transform, each with the number of the link that it is of.

    Collections, of which it goes through one element, are none of them.
    """
    hops: list[tuple[Origin, int]] = []
    for number, (used, made) in enumerate(found.links):
        hops += [(hop, number) for hop in resolver.way(used, made) if not hop.path]
    return hops


def _leads_inside(hop: Origin, following: Origin) -> bool:
    """Tell whether an expression is the call of a helper, in which the way goes on."""
    return isinstance(hop.node, ast.Call) and following.scope is not hop.scope


def _is_kept(hop: Origin) -> bool:
    """Tell whether an expression is what an object made for itself: `self.transform`."""
    return isinstance(hop.node, ast.Attribute) and is_named(hop.node.value, hop.scope.self_name)


def _is_told(resolver: Resolver, hop: Origin, following: Origin, served: Iterable[Way]) -> bool:
    """Tell whether a helper, or a table, is asked for something else here than all of training asks it for."""
    asked = [_asked(resolver, before) for before in _before(following, served)]
    mine = _asked(resolver, hop)
    return mine is not None and bool(asked) and mine not in asked and None not in asked


def _before(following: Origin, served: Iterable[Way]) -> Iterator[Origin]:
    for way in served:
        for before, hop in pairwise(way):
            if hop.node is following.node:
                yield before


def _asked(resolver: Resolver, hop: Origin) -> frozenset[object] | None:
    """Return what a call or a subscript asks for that tells training from evaluation; None of anything else."""
    if isinstance(hop.node, ast.Call):
        view = resolver.view(hop)
        given = list(view.every()) if view is not None else []
    elif isinstance(hop.node, ast.Subscript):
        given = [hop.at(hop.node.slice)]
    else:
        return None
    known = (resolver.constant(one) for one in given)
    return frozenset(value for one in known if one is not None for value in one if _tells(value))


def _tells(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and (names_training(value) or names_held_out(value)))
