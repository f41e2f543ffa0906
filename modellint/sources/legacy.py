"""Programs that only an older Python reads: Python 2, and `async` as a name, which it was before 3.7."""

from __future__ import annotations

import tokenize
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import NamedTuple

from modellint.sources.python import error_in

_LAYOUT = frozenset({tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT})
_ENDS = frozenset({tokenize.NEWLINE, tokenize.ENDMARKER})
_VALUES = frozenset({tokenize.NAME, tokenize.NUMBER, tokenize.STRING})
_COMMANDS = ("print", "exec")
_ASYNC = "asyn_"  # as long, for the columns behind it
_TAB = 8  # columns, after the language reference of Python 2, "Indentation"


class _Edit(NamedTuple):
    """What to write in place of the columns `first` to `last` (counted from 0, the last one left out) of a row."""

    row: int
    first: int
    last: int
    text: str


def read_as_today(text: str) -> str | None:
    """Return a program that only an older Python reads as one of today; None where none of these does."""
    for given in dict.fromkeys((text, _without_tabs(text))):
        read = modernised(given) or given
        if error_in(read) is None:
            return read
    return None


def modernised(text: str) -> str | None:
    """Return a program of an older Python as one that is read today, row for row; None where there is none to see.

    What is rewritten: `print` and `exec` as statements, `except A, e`, `raise A, b`, and a keyword or name `async`.
    Columns stay in front of what is rewritten. Whether the result can be parsed is for the caller to see.
    """
    try:
        tokens = list(tokenize.generate_tokens(StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):  # IndentationError, too
        return None
    rows = text.split("\n")
    edits = [edit for statement in _statements(tokens) for edit in _in_statement(statement, rows)]
    for row, first, last, new in sorted(edits, reverse=True):
        rows[row - 1] = rows[row - 1][:first] + new + rows[row - 1][last:]
    return "\n".join(rows) if edits else None


def _without_tabs(text: str) -> str:
    """Return a program with the tabs that indent it as eight columns each, which they are in Python 2."""
    return "\n".join(map(_untabbed, text.split("\n")))


def _untabbed(row: str) -> str:
    code = row.lstrip()
    return row[: len(row) - len(code)].expandtabs(_TAB) + code


def _statements(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[list[tokenize.TokenInfo]]:
    """Yield the tokens of each simple statement and of each head of a block, without what ends it."""
    statement: list[tokenize.TokenInfo] = []
    depth = lambdas = 0
    for token in tokens:
        if token.type in _LAYOUT:
            continue
        outside = not depth and token.string in (":", ";")
        ends = token.type in _ENDS or (outside and not (token.string == ":" and lambdas))
        lambdas += (token.string == "lambda" and not depth) - (outside and not ends)
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if not ends:
            statement.append(token)
        elif statement:
            yield statement
            statement, lambdas = [], 0


def _in_statement(tokens: Sequence[tokenize.TokenInfo], rows: Sequence[str]) -> Iterator[_Edit]:
    head, following = tokens[0], tokens[1] if len(tokens) > 1 else None
    if following is not None and head.type == tokenize.NAME:
        comma = _outer_comma(tokens)
        valued = following.type in _VALUES or following.string == "{"
        if head.string in _COMMANDS and valued and following.start[0] == head.end[0]:
            yield _Edit(*head.end, following.start[1], "(".rjust(following.start[1] - head.end[1]))
            yield _Edit(*tokens[-1].end, tokens[-1].end[1], ")")
        elif head.string == "except" and comma is not None:
            spaced = rows[comma.end[0] - 1][comma.end[1] :][:1].isspace()
            yield _Edit(*comma.start, comma.end[1], " as" if spaced else " as ")
        elif head.string == "raise" and comma is not None:
            yield _Edit(*comma.start, comma.end[1], "(")
            yield _Edit(*tokens[-1].end, tokens[-1].end[1], ")")
    for token, after in zip(tokens, (*tokens[1:], None), strict=True):
        # before `def`, `for` and `with` it is what it is today
        if token.string == "async" and (after is None or after.string not in ("def", "for", "with")):
            yield _Edit(*token.start, token.end[1], _ASYNC)


def _outer_comma(tokens: Sequence[tokenize.TokenInfo]) -> tokenize.TokenInfo | None:
    """Return the first comma of a statement that stands in no brackets."""
    depth = 0
    for token in tokens:
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if token.string == "," and not depth:
                return token
    return None
