"""How much the mode matters: the answer as the model came, against the one in evaluation mode."""

from __future__ import annotations

from modellint.runtime.probes.bench import Bench
from modellint.runtime.probes.compare import difference
from modellint.runtime.probes.result import FROM_EVALUATION


def from_evaluation(bench: Bench) -> dict[str, float]:
    """Return the largest relative difference as evidence for what is found about modes; nothing in evaluation mode."""
    if not any(module.training for module in bench.model.modules()):
        return {}
    try:
        reference = bench.reference()
        with bench.restored():
            bench.model.eval()
            return {FROM_EVALUATION: difference(reference, bench.step()).relative}
    except Exception:  # no time left, or a model that does not run in both modes
        return {}
