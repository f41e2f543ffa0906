"""Judge a trace: pure functions, one module a question, no torch. A rule names its detector in YAML."""

from modellint.runtime.inspect.judge import DETECTORS, inspect_failure, inspect_trace

__all__ = ["DETECTORS", "inspect_failure", "inspect_trace"]
