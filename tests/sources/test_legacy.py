"""Programs of an older Python are read row for row as today's."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from modellint.sources import SourceFile
from modellint.sources.legacy import modernised
from modellint.sources.readable import readable_part


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('print "loss", x', 'print("loss", x)'),
        ('print  "a" % (\n    x,\n)  # why', 'print ("a" % (\n    x,\n))  # why'),
        ('if x: print "a",; y = 1', 'if x: print("a",); y = 1'),
        ("f = lambda a: a; print f", "f = lambda a: a; print(f)"),
        ('exec "a = 1"', 'exec("a = 1")'),
        ("try:\n    f()\nexcept (A, B), e:\n    raise A, 'x'", "try:\n    f()\nexcept (A, B) as e:\n    raise A( 'x')"),
        ("x.cuda(async=True)", "x.cuda(asyn_=True)"),
        ("def f(x, async=False):\n    g(async)", "def f(x, asyn_=False):\n    g(asyn_)"),
        ("if x:\n\tprint 1", "if x:\n\tprint(1)"),
        ("try:\n    f()\nexcept A,e:\n    g()", "try:\n    f()\nexcept A as e:\n    g()"),
        ("print {1: 2}, x[1:2], lambda: 3", "print({1: 2}, x[1:2], lambda: 3)"),
        ("if async and x: f(async if async else 0)", "if asyn_ and x: f(asyn_ if asyn_ else 0)"),
    ],
)
def test_older_programs_are_rewritten(old: str, new: str) -> None:
    assert modernised(old) == new
    ast.parse(new)


@pytest.mark.parametrize(
    "text",
    [
        "print('x')",
        "print ('a'), b",
        "print",
        "print >>f, x",
        "async def f():\n    async with x, y:\n        print(await z)\n    async for a in b:\n        pass",
        "try:\n    f()\nexcept (A, B):\n    raise A from None",
        "x = {1: 2, 'print': 3}",
        "model.eval(",
        "x = 'print y",
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert modernised(text) is None


def read(text: str, cells: tuple[int, ...] = ()) -> tuple[str, list[int | None]]:
    source, errors = readable_part(SourceFile(Path("/project/a.py"), text, "notebook" if cells else "python", cells))
    return source.text, [error.lineno for error in errors]


def test_what_is_readable_stays_as_it_is() -> None:
    assert read("print('x')\n") == ("print('x')\n", [])


def test_one_error_tells_of_an_older_program() -> None:
    assert read("a = 1\nprint a\nprint a\n") == ("a = 1\nprint(a)\nprint(a)\n", [2])


def test_what_stays_broken_is_no_older_program() -> None:
    assert read("print a\nb = (\n") == ("print a\nb = (\n", [])


def test_tabs_that_are_mixed_with_spaces_are_eight_columns() -> None:
    assert read("if x:\n\tf()\n        g()\n") == ("if x:\n        f()\n        g()\n", [3])
    assert read("if x:\n\tprint 1\n") == ("if x:\n\tprint(1)\n", [2])


def test_cells_of_an_older_notebook_are_read() -> None:
    text = "a = 1\nprint a\nb = (\nc = 3\n"
    assert read(text, (1, 2, 3, 4)) == ("a = 1\nprint(a)\n\nc = 3\n", [2, 3])


def test_one_error_tells_of_a_notebook_for_an_older_python() -> None:
    assert read("print a\nprint b\nc = 3\n", (1, 2, 3)) == ("print(a)\nprint(b)\nc = 3\n", [1])
    assert read("a = (\nb = (\nc = 3\n", (1, 2, 3)) == ("a = (\nb = (\nc = 3\n", [])


def test_a_broken_cell_costs_itself() -> None:
    assert read("a = 1\nb = (\nc = 2\n", (1, 2, 3)) == ("a = 1\n\nc = 2\n", [2])
