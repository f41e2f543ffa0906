"""Whatever a file holds: text, or one clear error."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import example, given

from modellint.sources import SourceError, read_source
from modellint.sources.notebook import python_rows
from modellint.sources.suppressions import find_suppressions

PIECES = [
    "%time f()",
    "!ls \\",
    "x = (",
    ")",
    "'''",
    "# noqa: ML101",
    "  # modellint: ignore[ML1",
    "f(x)?",
    "if a:",
    "\f",
]
LINES = st.lists(st.sampled_from(PIECES))


@given(st.binary())
@example(b"# coding: rot13\n")
@example(b"# coding: idna\n")
@example(b"# coding: utf-16\n")
@example(b"# coding: unicode_escape\n\\")
@example(b"# coding: unicode_escape\n\\ud800")
@example(b"# coding: utf-8-sig\n\xff")
def test_bytes_are_text_or_an_error(data: bytes) -> None:
    with suppress(SourceError):
        text = read_source(Path("/a.py"), data).text
        assert "\r" not in text
        assert "\0" not in text
        text.encode()


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
@example({"cells": [{"cell_type": "code", "source": {"a": 1}}]})
@example({"worksheets": [{"cells": 3}]})
@example({"worksheets": [3], "cells": []})
@example({"cells": [{"cell_type": "code", "source": "\ud800"}]})
@example({"cells": [], "metadata": {"kernelspec": {"language": 3}}})
def test_data_is_a_notebook_or_an_error(data: object) -> None:
    with suppress(SourceError):
        source = read_source(Path("/a.ipynb"), json.dumps(data).encode())
        assert len(source.lines) - 1 >= len(source.cells)
        source.text.encode()


@given(LINES)
def test_a_cell_keeps_its_rows(lines: list[str]) -> None:
    assert len(python_rows("\n".join(lines))) == max(1, len(lines))


@given(st.text() | LINES.map("\n".join))
def test_comments_are_where_they_say(text: str) -> None:
    lines = text.split("\n")
    for suppression in find_suppressions(text):
        assert lines[suppression.row - 1][suppression.column - 1] == "#"
        for code in suppression.codes or ():
            assert lines[suppression.row - 1][code.start - 1 : code.end - 1] == code.text
