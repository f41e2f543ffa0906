"""Suppression comments: where they count, and what is left when they are removed."""

from __future__ import annotations

import pytest

from modellint.diagnostic import Edit, Span
from modellint.sources.suppressions import Suppression, find_suppressions


def only(text: str) -> Suppression:
    (found,) = find_suppressions(text)
    return found


def codes(suppression: Suppression) -> list[str] | None:
    return None if suppression.codes is None else [code.text for code in suppression.codes]


@pytest.mark.parametrize(
    "text",
    [
        "x = '# modellint: ignore[ML101]'\n",
        '"""\n# modellint: ignore\n# noqa\n"""\n',
        "# modellint: a linter for models\n",
        "# see modellint:ignore in the docs\n",
        "x = 1  # noqa: because it has to be\n",
        "x = 1  # noqa:\n",
        "modellint = noqa = 1\n",
    ],
)
def test_is_no_suppression(text: str) -> None:
    assert find_suppressions(text) == ()


@pytest.mark.parametrize(
    ("comment", "kind", "listed"),
    [
        ("# modellint: ignore[ML101]", "ignore", ["ML101"]),
        ("# modellint: ignore[ML101, ML201] the caller does it", "ignore", ["ML101", "ML201"]),
        ("#modellint:ignore[missing-eval]", "ignore", ["missing-eval"]),
        ("# modellint: ignore", "ignore", None),
        ("# modellint: ignore measured with dropout", "ignore", None),
        ("# modellint: ignore-file[ML101]", "ignore-file", ["ML101"]),
        ("# modellint: ignore-file", "ignore-file", None),
        ("# noqa: ML101", "noqa", ["ML101"]),
        ("# NOQA:ML101,E501", "noqa", ["ML101", "E501"]),
        ("# noqa: ML101 E501", "noqa", ["ML101", "E501"]),
        ("# noqa", "noqa", None),
        ("# type: ignore  # modellint: ignore[ML101]", "ignore", ["ML101"]),
        ("# modellint: ignore ML101", "malformed", None),
        ("# modellint: ignore: ML101", "malformed", None),
        ("# modellint: ignore[ML101", "malformed", None),
        ("# modellint: ignore[]", "malformed", []),
        ("# modellint: ingore[ML101]", "malformed", ["ML101"]),
        ("# modellint: disable", "malformed", None),
    ],
)
def test_reads(comment: str, kind: str, listed: list[str] | None) -> None:
    suppression = only(f"x = 1  {comment}\n")
    assert (suppression.kind, codes(suppression)) == (kind, listed)


STATEMENT = """\
before()
value = call(
    model(x),
    other,{inner}
){last}
after()
"""


def test_on_an_inner_row_it_counts_for_that_row() -> None:
    suppression = only(STATEMENT.format(inner="  # noqa", last=""))
    assert not suppression.covers(Span.of(3, 5, 3, 13))
    assert suppression.covers(Span.of(4, 5, 4, 10))


def test_behind_a_statement_it_counts_for_all_of_it() -> None:
    suppression = only(STATEMENT.format(inner="", last="  # noqa"))
    assert [suppression.covers(Span.of(row, 1, row, 5)) for row in range(1, 7)] == [
        False, True, True, True, True, False,
    ]  # fmt: skip


def test_it_counts_on_the_last_row_of_a_long_finding() -> None:
    assert only("a = f(\n  x)  # noqa\n").covers(Span.of(1, 5, 2, 5))


def test_on_the_head_of_a_block_it_does_not_count_inside() -> None:
    assert not only("with a:  # noqa\n    model(x)\n").covers(Span.of(2, 5, 2, 13))


def test_on_a_row_of_its_own_it_does_not_count_for_the_next() -> None:
    assert not only("# noqa\nmodel(x)\n").covers(Span.of(2, 1, 2, 9))


def test_for_a_file_it_counts_everywhere() -> None:
    assert only("x = 1\n# modellint: ignore-file[ML101]\n").covers(Span.of(40, 1, 40, 2))


def test_comments_in_front_of_an_error_are_found() -> None:
    assert only("# modellint: ignore-file\nx = (\n").kind == "ignore-file"


def apply(text: str, edit: Edit) -> str:
    lines = text.split("\n")
    start, end = edit.span.start, edit.span.end
    before = "\n".join([*lines[: start.row - 1], lines[start.row - 1][: start.column - 1]])
    behind = "\n".join([lines[end.row - 1][end.column - 1 :], *lines[end.row :]])
    return before + edit.content + behind


@pytest.mark.parametrize(
    ("text", "gone", "left"),
    [
        ("x = 1  # modellint: ignore[ML101]\ny\n", ["ML101"], "x = 1\ny\n"),
        ("x = 1  # modellint: ignore[ML101, ML201] why\n", ["ML101"], "x = 1  # modellint: ignore[ML201] why\n"),
        ("x = 1  # noqa: E501, ML101\n", ["ML101"], "x = 1  # noqa: E501\n"),
        ("x = 1  # modellint: ignore[ML101]  # noqa: E501\n", ["ML101"], "x = 1  # noqa: E501\n"),
        ("x = 1  # type: ignore  # modellint: ignore[ML101]\n", ["ML101"], "x = 1  # type: ignore\n"),
        ("x = 1\n# modellint: ignore-file[ML101]\ny\n", ["ML101"], "x = 1\ny\n"),
        ("x = 1  # noqa: ML101 long ago\n", ["ML101"], "x = 1  # long ago\n"),
    ],
)
def test_removes_no_more_than_asked(text: str, gone: list[str], left: str) -> None:
    suppression = next(s for s in find_suppressions(text) if set(gone) & set(codes(s) or ()))
    edit = suppression.without(tuple(code for code in suppression.codes or () if code.text in gone))
    assert apply(text, edit) == left
