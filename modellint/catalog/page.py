"""The long texts and the examples of a rule: its page, which a run over files does not need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from modellint.diagnostic import Confidence, Diagnostic

_MARK = re.compile(
    r"(?:#|//)\s*(?P<what>finding|possible)\s*"
    r"(?::\s*(?P<severity>error|warning|info)?\s*,?\s*(?P<confidence>certain|likely)?)?\s*$"
)
Place: TypeAlias = tuple[str, int]
"""A file name and a row."""
KEYS = frozenset(
    {"what-it-does", "why-is-this-bad", "use-instead", "does-not-see", "references", "examples", "edge-cases"}
)
"""The keys of a rule file that only its page holds."""


@dataclass(frozen=True, slots=True)
class Example:
    """A piece of code of a rule's page; a line that must be reported ends in `# finding` or `# finding: info, likely`.

    A line that is reported only with `min-confidence: possible` ends in `# possible`, in silent examples, too.

    `key` is where it stands in the rule's file, as in ("examples", "good", 0). `files` maps a file name to its
    text; `check` names the one that is analysed. `inputs` are the input specs of a runtime example, whose factory
    is `build()`. Each of `says` is part of what a finding says.
    """

    title: str
    bad: bool
    key: tuple[str, str, int]
    files: Mapping[str, str]
    check: str
    options: Mapping[str, Any]
    inputs: tuple[str, ...]
    says: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The text of the file that is analysed."""
        return self.files[self.check]

    def findings(self) -> dict[Place, str | None]:
        """Return {(file name, row): severity or None} of the lines marked `# finding`."""
        return {place: match["severity"] for place, match in self._marks() if match["what"] == "finding"}

    def disagreements(self, found: Mapping[Place, Diagnostic]) -> Iterator[tuple[Place | None, str]]:
        """Yield (where, what is wrong) of each difference between the marks and the findings at these places.

        `# possible` marks what is hidden unless one asks for it.
        """
        marks = dict(self._marks())
        for place in sorted(marks.keys() - found.keys()):
            yield place, f"is marked '# {marks[place]['what']}', and nothing is found"
        for place in sorted(found.keys() - marks.keys()):
            hidden = " as possible" if found[place].confidence is Confidence.POSSIBLE else ""
            yield place, f"is not marked, and is found{hidden}: {found[place].message}"
        for place in sorted(marks.keys() & found.keys()):
            mark, finding = marks[place], found[place]
            for wanted, given in ((mark["severity"], finding.severity), (mark["confidence"], finding.confidence)):
                if wanted not in (None, given.value):
                    yield place, f"is marked {wanted}, and is reported as {given.value}"
            if (mark["what"] == "possible") is not (finding.confidence is Confidence.POSSIBLE):
                yield place, f"is marked '# {mark['what']}', and is reported as {finding.confidence.value}"
        said = "\n".join(text for d in found.values() for text in (d.message, *(r.message for r in d.related)))
        for text in self.says:
            if text not in said:
                yield None, f"no finding says {text!r}"

    def _marks(self) -> Iterator[tuple[Place, re.Match[str]]]:
        for name, text in self.files.items():
            for row, line in enumerate(text.splitlines(), 1):
                if match := _MARK.search(line):
                    yield (name, row), match


@dataclass(frozen=True, slots=True)
class Page:
    """What a rule file says for people."""

    what: str
    why: str
    use_instead: str
    blind_spots: str
    references: tuple[tuple[str, str], ...]
    examples: tuple[Example, ...]
    edge_cases: tuple[Example, ...] = ()


def page(data: Mapping[str, Any]) -> Page:
    """Return the page of a rule file with this content."""
    return Page(
        what=data["what-it-does"],
        why=data["why-is-this-bad"],
        use_instead=data.get("use-instead", ""),
        blind_spots=data.get("does-not-see", ""),
        references=tuple((r["title"], r["url"]) for r in data.get("references", ())),
        examples=tuple(examples_of(data, "examples")),
        edge_cases=tuple(examples_of(data, "edge-cases")),
    )


def examples_of(data: Mapping[str, Any], section: str) -> Iterator[Example]:
    """Yield the examples in a section of a rule file with this content, the good ones first."""
    for kind in ("good", "bad"):
        for index, example in enumerate(data.get(section, {}).get(kind, ())):
            yield _example(example, (section, kind, index), data["runs-on"])


def _example(data: Mapping[str, Any], key: tuple[str, str, int], runs_on: str) -> Example:
    single = "example.rs" if runs_on == "rust" else "example.py"
    files = data["files"] if "files" in data else {single: data["code"]}
    return Example(
        title=data["title"],
        bad=key[1] == "bad",
        key=key,
        files=MappingProxyType(dict(files)),
        check=data.get("check", next(iter(files))),
        options=MappingProxyType(dict(data.get("options", {}))),
        inputs=tuple(data.get("inputs", ())),
        says=tuple(data.get("says", ())),
    )
