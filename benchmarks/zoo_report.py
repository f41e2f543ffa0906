"""The page docs/zoo.md, from the results of benchmarks/zoo.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Entries = Sequence[Mapping[str, Any]]
_HEAD = """# Traced zoos

Written by `python benchmarks/zoo.py --out FOLDER --report docs/zoo.md`, nothing of it by hand. Every model has random
weights and is in evaluation mode; the rules are those that are on by default. Counts of findings leave out what is
told as information.
"""
_NO_FORWARD = "NoForward"


def page(results: Mapping[str, Entries], listed: Mapping[str, int]) -> str:
    """Return the page. `results` by zoo; `listed`: how many models a zoo has."""
    return "\n".join(
        (
            _HEAD,
            *_timm(results["timm"], listed["timm"]),
            *_transformers(results["transformers"], listed["transformers"]),
            *_planted(results["planted"]),
        )
    )


def _timm(entries: Entries, listed: int) -> Iterator[str]:
    first = ("architectures traced, of those listed", f"{len(entries):,} of {listed:,}")
    yield from _table("timm, on the meta device", first, *_rows(entries))
    yield from _failures(entries)


def _transformers(entries: Entries, listed: int) -> Iterator[str]:
    without = [entry for entry in entries if _NO_FORWARD in (entry["problem"] or "")]
    runs = [entry for entry in entries if entry not in without]
    first = ("types tried, of those listed", f"{len(entries):,} of {listed:,}")
    second = ("types whose own forward runs", f"{len(runs):,}")
    yield from _table("transformers, from small configurations", first, second, *_rows(runs))
    yield from _failures(runs)
    names = ", ".join(f"`{entry['name']}`" for entry in without)
    yield (
        f"For {len(without)} more, no configuration and arguments that `benchmarks/small_models.py` makes fit\n"
        f"a model whose own forward runs: {names}.\n"
    )


def _rows(entries: Entries) -> Iterator[tuple[str, str]]:
    captured = [entry for entry in entries if _captured(entry)]
    ops = sum(entry["ops"] for entry in captured)
    peak = max((entry["peak"] or 0 for entry in entries), default=0)
    yield "forward recorded", f"{len(captured):,}{_share(len(captured), len(entries))}"
    yield "modules", f"{sum(entry['modules'] for entry in captured):,}"
    yield "operations", f"{ops:,}"
    yield "operations with file and line", _sum(captured, "ops_with_line", ops)
    yield "of these in the library itself", _sum(captured, "ops_in_library", ops)
    yield "models with a finding (there should be none)", f"{sum(bool(entry['findings']) for entry in captured):,}"
    yield "largest peak of memory of a process, its libraries included", f"{peak / 2**20:,.0f} MiB"


def _failures(entries: Entries) -> Iterator[str]:
    failures = [entry for entry in entries if not _captured(entry) or entry["findings"]]
    yield from _listed("Failures", (f"`{entry['name']}`: {_why(entry)}" for entry in failures))


def _planted(entries: Entries) -> Iterator[str]:
    yield "## One defect planted in each\n"
    yield (
        "A module of the model, drawn by chance, is switched back to training (a dropout, a drop path, a batch norm,\n"
        "an attention with dropout) or, where a model has none, made to do the thing in its forward. *Found* means by\n"
        "the right module path and at the right line; *somebody else* counts models with a finding at another module.\n"
    )
    yield "| zoo | defect | planted | found | somebody else blamed |\n|---|---|--:|--:|--:|"
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in entries:
        library, _, kind = entry["name"].split("/")
        groups.setdefault((library, kind), []).append(entry)
    for (library, kind), group in groups.items():
        there = [entry for entry in group if entry["planted"]]
        found, wrong = (sum(bool(entry[key]) for entry in there) for key in ("found", "elsewhere"))
        yield f"| {library} | {kind} | {len(there)} | {found} | {wrong} |"
    yield ""
    missed = [entry for entry in entries if entry["planted"] and (not entry["found"] or entry["elsewhere"])]
    lines = (
        f"`{entry['name']}` at {entry['planted']}: {'found' if entry['found'] else 'not found'}"
        f"{''.join(f', {other}' for other in entry['elsewhere'])}"
        for entry in missed
    )
    yield from _listed("Failures", lines)
    reasons = Counter(_why(entry) for entry in entries if not entry["planted"])
    if reasons:
        yield "Not planted: " + "; ".join(f"{number} times {reason}" for reason, number in reasons.items()) + ".\n"


def _captured(entry: Mapping[str, Any]) -> bool:
    return entry["level"] == "record" and not entry["problem"]


def _why(entry: Mapping[str, Any]) -> str:
    problem = (entry["problem"] or "").partition(": ")[2]
    return problem or ", ".join(entry["findings"]) or f"answered by {entry['level']}"


def _sum(entries: Entries, key: str, total: int) -> str:
    number = sum(entry[key] for entry in entries)
    return f"{number:,}{_share(number, total)}"


def _share(number: int, total: int) -> str:
    return f" ({100 * number / total:.2f} %)" if total else ""


def _table(title: str, *rows: tuple[str, str]) -> Iterator[str]:
    yield f"## {title}\n\n| | |\n|---|--:|"
    yield from (f"| {name} | {value} |" for name, value in rows)
    yield ""


def _listed(title: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"### {title}\n"
    yield "\n".join(f"- {line}" for line in lines) or "None."
    yield ""
