"""Comments that silence findings: ours (`ignore`, `ignore-file`) and, for our codes, `noqa`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from modellint.diagnostic import Edit, Position, Span

_OURS = re.compile(r"#\s*modellint:\s*(?P<kind>[\w-]+)(?P<codes>\[(?P<list>[^\]#]*)\])?(?P<rest>[^#]*)", re.IGNORECASE)
_NOQA = re.compile(
    r"#\s*noqa(?::\s*(?P<list>[A-Z]+[0-9]+(?:(?:\s*,\s*|\s+)[A-Z]+[0-9]+)*))?(?P<colon>:)?", re.IGNORECASE
)
_LOOKS_LIKE_CODE = re.compile(r"\s*[:=(]?\s*[A-Z]{2,6}[0-9]{1,4}\b")
_WORD = re.compile(r"[^\s,]+")
# Rust's line comments, and everything that may hold two slashes without being one.
_RUST_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)|/\*.*?\*/|b?r(?P<hashes>#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'""",
    re.DOTALL,
)
# What other linters call it: someone who writes this believes that it silences something.
_OTHER_SPELLINGS = {"disable", "disable-file", "ignore-all", "ignore-line", "noqa", "off", "skip", "skip-file"}
_SPELLINGS = ("ignore", "ignore-file")


@dataclass(frozen=True, slots=True)
class Code:
    """One code of a comment as it is written there, and where."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment. `codes` is None where it silences every rule.

    `rows` are the first and the last row of the statement that the comment stands in or behind. `column` and
    `end` are the 1-based columns of the directive inside its row.
    """

    kind: Literal["ignore", "ignore-file", "noqa", "malformed"]
    codes: tuple[Code, ...] | None
    row: int
    column: int
    end: int
    rows: tuple[int, int]
    line: str

    @property
    def span(self) -> Span:
        """Where the directive stands."""
        return Span.of(self.row, self.column, self.row, self.end)

    def covers(self, span: Span) -> bool:
        """Tell whether a finding at `span` stands where this comment counts."""
        if self.kind == "ignore-file":
            return True
        first, last = self.rows
        return self.row in (span.start.row, span.end.row) or (
            self.row in (first, last) and first <= span.start.row <= last
        )

    def names(self, code: str, name: str) -> Code | None:
        """Return the entry that means the rule `code` or `name`."""
        wanted = {code.upper(), name.upper()}
        return next((entry for entry in self.codes or () if entry.text.upper() in wanted), None)

    def without(self, gone: tuple[Code, ...]) -> Edit:
        """Return the edit that removes the codes `gone`, or the whole directive where none is left."""
        left = [entry for entry in self.codes or () if entry not in gone]
        if left:
            first, last = (self.codes or ())[0], (self.codes or ())[-1]
            span = Span.of(self.row, first.start, self.row, last.end)
            return Edit(span, ", ".join(entry.text for entry in left))
        before, behind = self.line[: self.column - 1], self.line[self.end - 1 :]
        if behind.strip():  # another comment goes on behind ours
            kept = behind.lstrip()
            end = self.end + len(behind) - len(kept)
            return Edit(Span.of(self.row, self.column, self.row, end), "" if kept.startswith("#") else "# ")
        if before.strip():
            start = len(before.rstrip()) + 1
            return Edit(Span.of(self.row, start, self.row, len(self.line) + 1), "")
        return Edit(Span(Position(self.row, 1), Position(self.row + 1, 1)), "")


def has_suppressions(text: str | bytes) -> bool:
    """Tell, without reading closely, whether `text` may hold a suppression."""
    if isinstance(text, bytes):
        return b"modellint:" in text or b"noqa" in text or b"NOQA" in text
    return "modellint:" in text or "noqa" in text or "NOQA" in text


def find_suppressions(text: str, *, rust: bool = False) -> tuple[Suppression, ...]:
    """Return the suppressions of a Python or Rust text, in its order; comments only, never the inside of a string.

    In a Python text that does not parse, those in front of the first error that the tokenizer stumbles over.
    """
    if not has_suppressions(text):
        return ()
    return tuple(_in_rust(text) if rust else _suppressions(text))


def _in_rust(text: str) -> Iterator[Suppression]:
    lines = text.split("\n")
    for match in _RUST_TOKEN.finditer(text):
        if match["comment"] is None:
            continue
        row = text.count("\n", 0, match.start()) + 1
        offset = match.start() - (text.rfind("\n", 0, match.start()) + 1)
        comment = "# " + match["comment"][2:]  # as wide as it was, so that every column stays
        yield from (s for s in _parse(comment, row, offset, (row, row), lines[row - 1]) if s.kind != "noqa")


def _suppressions(text: str) -> Iterator[Suppression]:
    import io
    import tokenize  # most files suppress nothing

    waiting: list[tuple[str, tuple[int, int], str]] = []
    first = last = 0
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                if has_suppressions(token.string) or "noqa" in token.string.lower():
                    waiting.append((token.string, token.start, lines[token.start[0] - 1]))
            elif token.type == tokenize.NEWLINE:
                last = token.start[0]
                yield from _parse_all(waiting, (first or last, last))
                waiting, first = [], 0
            elif token.type in (tokenize.NL, tokenize.ENDMARKER):
                if not first:  # a comment on a line of its own
                    yield from _parse_all(waiting, None)
                    waiting = []
            elif token.type not in (tokenize.INDENT, tokenize.DEDENT) and not first:
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    yield from _parse_all(waiting, None)


def _parse_all(comments: list[tuple[str, tuple[int, int], str]], rows: tuple[int, int] | None) -> Iterator[Suppression]:
    for comment, (row, offset), line in comments:
        yield from _parse(comment, row, offset, rows or (row, row), line)


def _parse(comment: str, row: int, offset: int, rows: tuple[int, int], line: str) -> Iterator[Suppression]:
    import difflib

    for match in _OURS.finditer(comment):
        kind: Literal["ignore", "ignore-file", "noqa", "malformed"] = "malformed"
        named = match["kind"].lower()
        bare = match["codes"] is None
        if named not in _OTHER_SPELLINGS and not difflib.get_close_matches(named, _SPELLINGS, 1, 0.75):
            continue  # prose
        if named in _SPELLINGS and not (
            bare and (match["rest"].startswith("[") or _LOOKS_LIKE_CODE.match(match["rest"]))
        ):
            kind = "ignore" if named == "ignore" else "ignore-file"
        codes = None if bare else _codes(match["list"], offset + match.start("list"))
        if codes == ():
            kind = "malformed"
        end = offset + match.start() + len(match[0].rstrip())
        yield Suppression(kind, codes, row, offset + match.start() + 1, end + 1, rows, line)
    for match in _NOQA.finditer(comment):
        if match["colon"]:  # a colon without a list of codes behind it: prose
            continue
        listed = match["list"]
        noqa = None if listed is None else _codes(listed, offset + match.start("list"))
        yield Suppression("noqa", noqa, row, offset + match.start() + 1, offset + match.end() + 1, rows, line)


def _codes(text: str, offset: int) -> tuple[Code, ...]:
    return tuple(Code(match[0], offset + match.start() + 1, offset + match.end() + 1) for match in _WORD.finditer(text))


def unknown_codes(suppression: Suppression, known: Mapping[str, str]) -> tuple[Code, ...]:
    """Return the codes of one of our own comments that mean no rule; `known` maps codes to names."""
    if suppression.kind not in ("ignore", "ignore-file"):
        return ()
    words = {word.upper() for pair in known.items() for word in pair}
    return tuple(entry for entry in suppression.codes or () if entry.text.upper() not in words)
