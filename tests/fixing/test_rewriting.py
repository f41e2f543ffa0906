"""Files with edits applied: what was not touched stays byte for byte."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest

from modellint.diagnostic import Edit, Span
from modellint.fixing import NotRewritable, rewrite

CALL = Edit(Span.of(2, 7, 2, 7), "()")
PYTHON = Path("/a.py")
NOTEBOOK = Path("/a.ipynb")


class TestPython:
    def test_windows_line_ends_stay(self) -> None:
        assert rewrite(PYTHON, b"x\r\nm.eval\r\n", [CALL]) == b"x\r\nm.eval()\r\n"

    def test_new_rows_get_the_line_end_of_the_file(self) -> None:
        insert = Edit(Span.of(2, 1, 2, 1), "new\n")
        assert rewrite(PYTHON, b"x\r\ny\r\n", [insert]) == b"x\r\nnew\r\ny\r\n"

    def test_mixed_line_ends_stay_mixed(self) -> None:
        insert = Edit(Span.of(2, 1, 2, 1), "new\n")
        assert rewrite(PYTHON, b"x\ny\r\nz\n", [insert, Edit(Span.of(3, 2, 3, 2), "()")]) == b"x\nnew\r\ny\r\nz()\n"

    def test_a_byte_order_mark_stays(self) -> None:
        data = codecs.BOM_UTF8 + b"x\nm.eval\n"
        assert rewrite(PYTHON, data, [CALL]) == codecs.BOM_UTF8 + b"x\nm.eval()\n"

    def test_the_declared_encoding_stays(self) -> None:
        data = "# coding: latin-1\nm.eval  # é\n".encode("latin-1")
        assert rewrite(PYTHON, data, [CALL]) == "# coding: latin-1\nm.eval()  # é\n".encode("latin-1")

    def test_columns_count_code_points(self) -> None:
        edit = Edit(Span.of(1, 13, 1, 13), "()")
        assert rewrite(PYTHON, "é;'🚀';m.eval\n".encode(), [edit]) == "é;'🚀';m.eval()\n".encode()

    def test_no_line_end_is_added(self) -> None:
        assert rewrite(PYTHON, b"x\nm.eval", [CALL]) == b"x\nm.eval()"

    def test_what_the_encoding_lacks_is_not_written(self) -> None:
        with pytest.raises(NotRewritable):
            rewrite(PYTHON, b"# coding: latin-1\nm.eval\n", [Edit(Span.of(2, 7, 2, 7), "\N{SNOWMAN}")])


def notebook(**layout: object) -> bytes:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Text\n", "m.eval"]},
        {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [], "source": "one_string\nm.eval"},
        {"cell_type": "code", "metadata": {"z": 1, "a": 2}, "source": ["x = 'é'\n", "m.eval\n", "y"], "outputs": []},
    ]
    data = {"nbformat": 4, "nbformat_minor": 5, "cells": cells, "metadata": {}}
    return (json.dumps(data, **layout) + "\n").encode()  # type: ignore[arg-type]


class TestNotebook:
    @pytest.mark.parametrize(
        "layout",
        [
            {"indent": 1, "ensure_ascii": False},
            {"indent": 1},
            {"indent": "\t"},
            {"indent": 4, "sort_keys": True},
            {"separators": (",", ":")},
            {},
        ],
        ids=str,
    )
    def test_any_layout_of_the_json_stays(self, layout: dict[str, object]) -> None:
        data = notebook(**layout)
        new = rewrite(NOTEBOOK, data, [Edit(CALL.span, "()", 3), Edit(CALL.span, "()", 2)])
        expected = json.loads(data)
        expected["cells"][1]["source"] = "one_string\nm.eval()"
        expected["cells"][2]["source"] = ["x = 'é'\n", "m.eval()\n", "y"]
        assert new.decode() == json.dumps(expected, **layout) + "\n"  # type: ignore[arg-type]

    def test_only_the_changed_line_changes(self) -> None:
        data = notebook(indent=1)
        new = rewrite(NOTEBOOK, data, [Edit(CALL.span, "()", 3)])
        pairs = zip(data.splitlines(), new.splitlines(), strict=True)
        assert [pair for pair in pairs if pair[0] != pair[1]] == [(b'    "m.eval\\n",', b'    "m.eval()\\n",')]

    def test_new_lines_are_items_of_the_list(self) -> None:
        new = rewrite(NOTEBOOK, notebook(indent=1), [Edit(Span.of(3, 1, 3, 2), "with a:\n    y", 3)])
        assert json.loads(new)["cells"][2]["source"] == ["x = 'é'\n", "m.eval\n", "with a:\n", "    y"]

    @pytest.mark.parametrize("cell", [None, 0, 1, 4])
    def test_what_is_no_code_cell_is_never_written(self, cell: int | None) -> None:
        with pytest.raises(NotRewritable, match="no such code cell"):
            rewrite(NOTEBOOK, notebook(), [Edit(CALL.span, "()", cell)])

    def test_cells_of_format_3_count_over_all_worksheets(self) -> None:
        code, text = {"cell_type": "code", "input": ["m.eval"]}, {"cell_type": "markdown", "source": ["m.eval"]}
        data = {"worksheets": [{"cells": [text, code]}, {"cells": [text, None, code]}]}
        new = rewrite(NOTEBOOK, json.dumps(data).encode(), [Edit(Span.of(1, 7, 1, 7), "()", 5)])
        data["worksheets"][1]["cells"][2] = {**code, "input": ["m.eval()"]}
        assert json.loads(new) == data

    def test_a_list_in_one_line_of_json(self) -> None:
        data = b'{"cells": [{"cell_type": "code", "source": ["m.eval"]}]}'
        new = rewrite(NOTEBOOK, data, [Edit(Span.of(1, 1, 1, 1), "x\n", 1)])
        assert new == b'{"cells": [{"cell_type": "code", "source": ["x\\n","m.eval"]}]}'

    def test_braces_and_quotes_inside_strings(self) -> None:
        cell = {"metadata": {"a]}": '"]}\\'}, "source": ["m.eval"], "cell_type": "code"}
        data = json.dumps({"x": [{}, [], 1.5e3, None, '\\"'], "cells": [cell]}).encode()
        new = rewrite(NOTEBOOK, data, [Edit(Span.of(1, 7, 1, 7), "()", 1)])
        assert new == data.replace(b"m.eval", b"m.eval()")

    def test_a_magic_is_never_written_over(self) -> None:
        data = b'{"cells": [{"cell_type": "code", "source": ["%time x\\n", "m.eval"]}]}'
        assert b"m.eval()" in rewrite(NOTEBOOK, data, [Edit(CALL.span, "()", 1)])
        with pytest.raises(NotRewritable):
            rewrite(NOTEBOOK, data, [Edit(Span.of(1, 1, 1, 5), "with x: pass", 1)])
