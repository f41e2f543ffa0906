"""What every front end of the runtime pass shares: the models of a configuration, and what is shown of the findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from modellint.diagnostic import Diagnostic
from modellint.linting.refining import refine
from modellint.runtime import DETECTORS, Request, TargetReport
from modellint.runtime.tracing import TIMEOUT
from modellint.settings import Settings


def configured(
    settings: Settings,
    *,
    inputs: tuple[str, ...] = (),
    mode: str | None = None,
    method: str | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    network: bool = False,
) -> list[Request]:
    """Return requests for the models of the configuration; what is given counts for all of them.

    `timeout` is in seconds, `memory` in megabytes; all arguments are as in `Request`.
    """
    return [
        Request(
            model.target,
            inputs or model.inputs,
            mode or model.mode,
            method or model.method,
            timeout or model.timeout or TIMEOUT,
            memory,
            network,
            model.base,
            model.name,
            model.rules,
        )
        for model in settings.models
    ]


def concluded(reports: Sequence[TargetReport], settings: Settings) -> list[Diagnostic]:
    """Return the findings of `reports` that are shown, sorted; what several models share comes once."""
    judged = {
        active.rule.code
        for active in settings.rules.values()
        if active.rule.detector in DETECTORS and active.rule.family != "probe"
    }
    return refine(_once(reports), settings, _rows_that_ran(reports, judged), judged)


def _rows_that_ran(reports: Iterable[TargetReport], judged: set[str]) -> dict[str, set[int]]:
    """Return the rows that were observed, by file, of models that all the rules `judged` were run on."""
    rows: dict[str, set[int]] = {}
    for report in reports:
        if report.request.rules is None or judged <= report.request.rules.keys():
            for name, found in report.rows_that_ran().items():
                rows.setdefault(name, set()).update(found)
    return rows


def _once(reports: Iterable[TargetReport]) -> Iterator[Diagnostic]:
    """Yield every finding, but what several models share only once."""
    told = set()
    for report in reports:
        for diagnostic in report.diagnostics:
            key = (diagnostic.code, diagnostic.filename, diagnostic.span, diagnostic.message)
            if key not in told:
                told.add(key)
                yield diagnostic
