"""One finding for a cause, whatever the order in which its places were seen."""

from __future__ import annotations

from itertools import permutations

from modellint.diagnostic import Confidence
from modellint.static.context import Finding
from modellint.static.flow.values import Site
from modellint.static.merge import merged

HERE, BELOW, BEYOND = Site("a.py", 3, 4, 3, 9), Site("a.py", 8, 4, 8, 9), Site("a.py", 9, 4, 9, 9)


def test_the_first_place_is_shown_and_the_others_are_related() -> None:
    for order in permutations([Finding(HERE), Finding(BELOW)]):
        (found,) = merged(("cause", finding) for finding in order)
        assert (found.site, found.related) == (HERE, ((BELOW, "the same here"),))


def test_two_causes_are_two_findings() -> None:
    assert [found.site for found in merged([("one", Finding(HERE)), ("two", Finding(BELOW))])] == [HERE, BELOW]


def test_of_several_at_one_place_the_surest_counts() -> None:
    unsure = Finding(HERE, {"how": "by another caller"}, Confidence.POSSIBLE)
    for order in permutations([unsure, Finding(HERE), unsure]):
        (found,) = merged(("cause", finding) for finding in order)
        assert found == Finding(HERE)


def test_of_several_causes_at_one_place_the_surest_is_told() -> None:
    unsure = Finding(HERE, {"how": "by another caller"}, Confidence.POSSIBLE)
    for order in permutations([("one", unsure), ("two", Finding(HERE)), ("three", unsure)]):
        assert list(merged(order)) == [Finding(HERE)]


def test_a_place_that_is_only_possible_is_related_to_a_surer_one_below() -> None:
    for order in permutations([Finding(HERE, confidence=Confidence.POSSIBLE), Finding(BELOW)]):
        (found,) = merged(("cause", finding) for finding in order)
        assert (found.site, found.related) == (BELOW, ((HERE, "the same here"),))


def test_of_several_at_one_place_what_is_related_to_any_is_told() -> None:
    first = Finding(HERE, related=((BELOW, "the forward"),))
    second = Finding(HERE, related=((BELOW, "the forward"), (BEYOND, "the forward")))
    both = ((BELOW, "the forward"), (BEYOND, "the forward"))
    for order in permutations([first, second]):
        assert [found.related for found in merged(("cause", finding) for finding in order)] == [both]
        assert [found.related for found in merged((finding.related, finding) for finding in order)] == [both]
