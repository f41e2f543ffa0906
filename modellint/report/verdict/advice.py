"""What to do next, most important first: repair causes before consequences, then prove what is not proved yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from modellint.catalog import ActiveRule
from modellint.diagnostic import Diagnostic
from modellint.runtime import TargetReport
from modellint.runtime.probes.result import FAILED, PASSED, SKIPPED, VACUOUS

Step = dict[str, str | None]
"""`title`, `text` (with `code` in backticks) and `url`, where there is a page."""


def advice(report: TargetReport, shown: Sequence[Diagnostic], rules: Mapping[str, ActiveRule]) -> Iterator[Step]:
    """Yield the steps for one model, whose shown findings are given."""
    results = report.trace.probes if report.trace is not None else ()
    if report.problem is not None and not any(diagnostic.code == "ML003" for diagnostic in shown):
        yield _step("Make the model run", f"{report.problem}.")
    told: set[str] = set()
    for diagnostic in sorted(shown, key=lambda d: (bool(_causes(d)), -d.severity.rank)):
        if diagnostic.code not in told and diagnostic.code in rules:
            told.add(diagnostic.code)
            yield _repair(diagnostic, rules[diagnostic.code])
    failed = [result.probe for result in results if result.verdict == FAILED]
    if failed:
        again = f"`--probe {','.join(failed)}` runs what failed again; `--emit-repro FOLDER` writes a script"
        yield _step("Check the repair", f"{again} for each that shows the difference with torch alone.")
    for result in results:
        if result.verdict == SKIPPED:
            yield _step(f"Probe {result.probe} did not run to its end", f"{result.reason}.")
        elif result.verdict == VACUOUS:
            text = f"{result.reason}. It proves something once an input lets it fail."
            yield _step(f"Probe {result.probe} proved nothing", text)
    if not results and report.problem is None:
        yield _step("Put it to the test", "No probe was run: `--probe default` takes at most 15 forwards.")
    elif not shown and report.problem is None and any(result.verdict == PASSED for result in results):
        yield _step(
            "Keep it so", "`modellint lock` writes down weights and answers; `modellint verify` compares later."
        )


def _repair(diagnostic: Diagnostic, active: ActiveRule) -> Step:
    title = f"{diagnostic.code} {diagnostic.name}"
    if causes := _causes(diagnostic):
        text = f"A consequence of {', '.join(causes)}: repair that first, and run the probe again."
    else:
        text = " ".join(active.rule.use_instead.split())
    return _step(title, text, diagnostic.url)


def _causes(diagnostic: Diagnostic) -> tuple[str, ...]:
    return diagnostic.runtime.explained_by if diagnostic.runtime is not None else ()


def _step(title: str, text: str, url: str | None = None) -> Step:
    return {"title": title, "text": text, "url": url}
