"""Notebooks: only code cells, row for row, without what only IPython understands."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from modellint.sources import SourceError, SourceFile, read_source
from modellint.sources.notebook import code_of, python_rows

PATH = Path("/project/file.ipynb")


def notebook(*cells: tuple[str, str], **metadata: object) -> bytes:
    listed = [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]
    return json.dumps({"cells": listed, "metadata": metadata, "nbformat": 4}).encode()


def read(data: bytes) -> SourceFile:
    return read_source(PATH, data)


def test_code_cells_follow_each_other() -> None:
    source = read(notebook(("markdown", "# Title\n"), ("code", "a = 1\nb = 2"), ("raw", "x"), ("code", "c = 3")))
    assert (source.text, source.kind, source.cells) == ("a = 1\nb = 2\nc = 3\n", "notebook", (1, 3))
    assert source.numbers == (2, 4)


def test_a_row_is_found_in_its_cell() -> None:
    source = read(notebook(("code", "a = 1\nb = 2"), ("code", ""), ("code", "c = 3")))
    assert [source.locate(row) for row in (1, 2, 4)] == [(1, 1), (1, 2), (3, 1)]


def test_cells_of_every_kind_count() -> None:
    data = notebook(("markdown", "# Title\n"), ("code", "a = 1\nb = 2"), ("raw", "x"), ("markdown", ""), ("code", "c"))
    source = read(data)
    assert [source.locate(row) for row in (1, 2, 3)] == [(2, 1), (2, 2), (5, 1)]
    assert [source.first_row(cell) for cell in range(7)] == [None, None, 1, None, None, 3, None]
    cell, row = source.locate(3)
    assert cell is not None and json.loads(data)["cells"][cell - 1]["source"][row - 1] == "c"


def test_a_python_file_has_no_cells() -> None:
    source = read_source(Path("/project/file.py"), b"a = 1\n")
    assert (source.numbers, source.locate(1), source.first_row(1)) == ((), (None, 1), None)


@pytest.mark.parametrize(
    "code",
    [
        "x = 7 % 3",
        "x = (7\n     % 3)",
        "x = 7 \\\n  % 3",
        "text = '''\n%matplotlib\n!ls\n'''",
        "if x != 1:\n    pass",
        "print('really?')",
        "y = [1,\n!x\n]",
        "# what now?",
        "await model(x)",
    ],
)
def test_python_stays_as_it_is(code: str) -> None:
    assert "\n".join(python_rows(code)) == code


@pytest.mark.parametrize(
    ("code", "python"),
    [
        pytest.param("%matplotlib inline\nx = 1", "pass\nx = 1", id="line magic"),
        pytest.param("!pip install a \\\n  b\nx = 1", "pass\n\nx = 1", id="shell line that goes on"),
        pytest.param("if x:\n    !ls\n    %cd ..", "if x:\n    pass\n    pass", id="indented"),
        pytest.param("files = !ls\nt = %timeit -o f()", "files = None\nt = None", id="assigned"),
        pytest.param("?model\nmodel.fit??\nx = 1", "pass\npass\nx = 1", id="help"),
        pytest.param("%%bash\nfor x in *; do\ndone", "\n\n", id="cell of another language"),
        pytest.param("%time y = f(x)\nif x:\n    %time  g()", "if 1: y = f(x)\nif x:\n    if 1:  g()", id="timed"),
        pytest.param("%time\n%time -n 3", "pass\npass", id="nothing timed"),
        pytest.param(";ls\n,f a b\n/f 1 2\nx = 1", "pass\npass\npass\nx = 1", id="calls without brackets"),
        pytest.param("cd some-folder\nls -l\nx = 1", "pass\npass\nx = 1", id="magics without a sign"),
        pytest.param("ls = [1]\nrm - x\ncat in ls", "ls = [1]\nrm - x\ncat in ls", id="variables called like a magic"),
        pytest.param("%%time\nx = 1", "\nx = 1", id="cell magic around Python"),
        pytest.param("\n%%capture out\n!ls\nx = 1", "\n\npass\nx = 1", id="magic inside magic"),
        pytest.param("\n  if x:\n      y = 1\n  !ls", "\nif x:\n    y = 1\npass", id="indented as a whole"),
        pytest.param("\t# first\n\tx = 1", "# first\nx = 1", id="indented by a tab"),
    ],
)
def test_what_only_ipython_understands_is_replaced(code: str, python: str) -> None:
    replaced = "\n".join(python_rows(code))
    assert replaced == python
    ast.parse(replaced)


def test_a_notebook_of_another_language_is_empty() -> None:
    assert read(notebook(("code", "let x = 1"), language_info={"name": "julia"})).text == ""
    assert read(notebook(("code", "x <- 1"), kernelspec={"language": "R"})).text == ""


def test_format_3_has_worksheets() -> None:
    cells = [{"cell_type": "code", "input": ["a = 1\n", "b = 2"]}]
    data = json.dumps({"worksheets": [{"cells": cells}], "metadata": {}, "nbformat": 3}).encode()
    assert read(data).text == "a = 1\nb = 2\n"


def test_cells_of_format_3_count_over_all_worksheets() -> None:
    code, text = {"cell_type": "code", "input": "a = 1"}, {"cell_type": "markdown", "source": "# Title"}
    sheets = [{"cells": [text, code]}, 3, {"cells": [text, None, code]}]
    assert read(json.dumps({"worksheets": sheets, "metadata": {}}).encode()).numbers == (2, 5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no notebook: Expecting value"),
        (b'{"cells": [', "no notebook: Expecting value"),
        (b"[]", "no notebook: it has no list of cells"),
        (b'{"cells": {}}', "no notebook: it has no list of cells"),
        (b'{"cells": [], "x": "\xff"}', "not UTF-8: byte 0xff"),
        (b"[" * 100_000, "no notebook: nested too deeply"),
    ],
)
def test_says_what_is_no_notebook(data: bytes, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(data)
    assert caught.value.message == message


@pytest.mark.parametrize("cell", [None, 3, {}, {"cell_type": "code"}, {"cell_type": "code", "source": None}])
def test_odd_cells_do_no_harm(cell: object) -> None:
    assert read(json.dumps({"cells": [cell], "metadata": None}).encode()).text.strip() in ("", "None")


@pytest.mark.parametrize("data", [b"", b"[]", b"3", b"{", b'{"cells": 3}', b"\xff", b"[" * 9999])
def test_what_is_no_notebook_has_no_code(data: bytes) -> None:
    assert code_of(data) == b""


def test_the_code_of_a_notebook_is_that_of_its_code_cells() -> None:
    data = notebook(("markdown", "# evaluate"), ("code", "%time x = 1\n"), ("code", "größe()"))
    assert code_of(data).decode() == "%time x = 1\n\ngröße()"
