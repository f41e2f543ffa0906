"""Edits from two texts, onto a text, and together."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modellint.diagnostic import Applicability, Confidence, Diagnostic, Edit, Fix, Severity, Span
from modellint.fixing.edits import apply, compatible, difference

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
ROWS = st.lists(st.sampled_from(["", "a", "  a", "b(c)", "    b(c)", "é = 'ß'", "  "]), max_size=9)


def applied(old: str, new: str) -> str:
    return "\n".join(apply(old.split("\n"), difference(old, new)))


def finding(*edits: Edit, row: int = 1) -> Diagnostic:
    fix = Fix(Applicability.SAFE, "", edits)
    return Diagnostic("ML102", "x", Severity.ERROR, Confidence.CERTAIN, "", "/a.py", Span.of(row, 1, row, 2), fix=fix)


class TestDifference:
    def test_the_same_text_needs_no_edit(self) -> None:
        assert difference("a\nb\n", "a\nb\n") == ()

    def test_only_what_changed_is_touched(self) -> None:
        assert difference("x = 1\nm.eval  # c\n", "x = 1\nm.eval()  # c\n") == (Edit(Span.of(2, 7, 2, 7), "()"),)

    def test_a_block_that_moves_right_is_touched_at_its_margin(self) -> None:
        old = "off()\nfor x in y:\n    f(x)\n"
        new = "with off():\n    for x in y:\n        f(x)\n"
        edits = difference(old, new)
        assert [edit.content for edit in edits[-2:]] == ["    ", "    "]
        assert all(edit.span.start == edit.span.end for edit in edits[-2:])

    def test_a_new_row_is_inserted_whole(self) -> None:
        assert difference("a\nb\n", "a\nnew\nb\n") == (Edit(Span.of(2, 1, 2, 1), "new\n"),)

    @UNHURRIED
    @given(ROWS, ROWS)
    def test_the_edits_lead_from_one_text_to_the_other(self, old: list[str], new: list[str]) -> None:
        assert applied("\n".join(old), "\n".join(new)) == "\n".join(new)

    @UNHURRIED
    @given(ROWS, ROWS)
    def test_edits_are_in_order_and_do_not_touch(self, old: list[str], new: list[str]) -> None:
        edits = difference("\n".join(old), "\n".join(new))
        assert all(a.span.end < b.span.start for a, b in pairwise(edits))


class TestCompatible:
    def test_fixes_of_different_places_go_together(self) -> None:
        a, b = finding(Edit(Span.of(1, 1, 1, 2), "x")), finding(Edit(Span.of(1, 5, 1, 6), "y"))
        assert compatible([a, b])[0] == [a, b]

    def test_the_first_of_two_that_overlap_wins(self) -> None:
        a, b = finding(Edit(Span.of(1, 1, 1, 4), "x")), finding(Edit(Span.of(1, 3, 1, 6), "y"))
        assert compatible([a, b])[0] == [a]

    def test_two_insertions_at_one_place_have_no_order(self) -> None:
        a, b = finding(Edit(Span.of(1, 1, 1, 1), "x")), finding(Edit(Span.of(1, 1, 1, 1), "y"))
        assert compatible([a, b])[0] == [a]

    def test_the_same_import_is_inserted_once(self) -> None:
        shared = Edit(Span.of(1, 1, 1, 1), "import torch\n")
        a, b = finding(shared, Edit(Span.of(3, 1, 3, 1), "a")), finding(shared, Edit(Span.of(5, 1, 5, 1), "b"))
        chosen, edits = compatible([a, b])
        assert (chosen, edits.count(shared)) == ([a, b], 1)

    def test_cells_are_texts_of_their_own(self) -> None:
        a = finding(Edit(Span.of(1, 1, 1, 2), "x", 1))
        b = finding(Edit(Span.of(1, 1, 1, 2), "x", 2))
        assert compatible([a, b])[0] == [a, b]
