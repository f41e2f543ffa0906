"""What a probe brings home. Crosses from the child process as JSON; never imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PASSED, FAILED, VACUOUS, SKIPPED = "passed", "failed", "vacuous", "skipped"
"""Verdicts. Vacuous: it ran, and could not have failed. Skipped: it did not run to its end."""

SECOND_CALL = "second call"
"""Key of the details that says how the second call of a probe was not just the first one again."""

FROM_EVALUATION = "difference from evaluation mode"
"""Key of the details of the first probe of a model that came in training mode, or with parts in it."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """The operation at which a difference comes into being.

    `site` indexes `Trace.sites`. `inherited` is the relative error of its inputs, `own` that of its result. `stale`:
    it reads state of the model that was another one in the reference. `draws`: it draws random numbers.
    """

    op: str
    module: str | None
    site: int | None
    inherited: float = 0.0
    own: float = 0.0
    stale: bool = False
    why: str = ""
    draws: bool = False


@dataclass(frozen=True, slots=True)
class LayerError:
    """A module on the way: relative error of what goes in and of what comes out."""

    layer: str
    type: str
    error_in: float
    error_out: float
    verdict: str
    """`agrees`, `inherits` or `culprit`."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Verdict of one probe.

    `metric` is max|difference| over max|reference| of the worst output, to be compared with `tolerance`, which
    `tolerance_from` explains. `reason` is one line: why it is vacuous or skipped, or what differed. `cause` names
    the class of the cause. `forwards` and `seconds` are what it cost.
    """

    probe: str
    verdict: str
    reason: str = ""
    cause: str = ""
    metric: float | None = None
    tolerance: float | None = None
    tolerance_from: str = ""
    forwards: int = 0
    seconds: float = 0.0
    culprits: tuple[Culprit, ...] = ()
    layers: tuple[LayerError, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def live(self) -> bool:
        """Tell whether the probe could have failed, so that its passing means something."""
        return self.verdict in (PASSED, FAILED)


def result_from_json(data: Mapping[str, Any]) -> ProbeResult:
    """Undo `to_json` for one result."""
    return ProbeResult(
        **{
            **data,
            "culprits": tuple(Culprit(**item) for item in data.get("culprits", ())),
            "layers": tuple(LayerError(**item) for item in data.get("layers", ())),
        }
    )
