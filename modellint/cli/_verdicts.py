"""What the probes found, as lines for people: a verdict each, and the way of an error through the layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from modellint.runtime import TargetReport
from modellint.runtime.probes.result import FAILED, LayerError, ProbeResult

_LAYERS = 8


def verdicts(report: TargetReport) -> Iterator[str]:
    """Yield a line for every probe that ran or was to run, and a table of layers under those that failed."""
    results = report.trace.probes if report.trace is not None else ()
    name = report.request.name or report.request.target
    for result in results:
        yield f"{name}: probe {result.probe}: {result.verdict}{_measured(result)}{_reason(result)}{_cost(result)}"
        if result.verdict == FAILED and result.layers:
            yield from _table(around(result.layers))


def _measured(result: ProbeResult) -> str:
    if result.metric is None or result.tolerance is None:
        return ""
    if not result.tolerance:
        return ", bit for bit" if not result.metric else f", difference {result.metric:.2g}"
    return f", difference {result.metric:.2g} (tolerance {result.tolerance_from})"


def _reason(result: ProbeResult) -> str:
    return f": {result.reason}" if result.reason else ""


def _cost(result: ProbeResult) -> str:
    return f" [{result.forwards} forwards, {result.seconds:.1f} s]" if result.forwards else ""


def around(layers: Sequence[LayerError]) -> list[LayerError]:
    """Return the layers around the first culprit."""
    at = next((number for number, layer in enumerate(layers) if layer.verdict == "culprit"), 0)
    first = max(0, at - _LAYERS // 2)
    return list(layers[first : first + _LAYERS])


def _table(layers: Sequence[LayerError]) -> Iterator[str]:
    rows = [("layer", "error in", "error out", "verdict")]
    rows += [(layer.layer, f"{layer.error_in:.2g}", f"{layer.error_out:.2g}", layer.verdict) for layer in layers]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        yield "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
