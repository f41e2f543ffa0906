"""The runtime pass: load a model in a child process, observe it, and judge what was seen."""

from modellint.runtime.inspect import DETECTORS
from modellint.runtime.process.pool import Pool, PoolError
from modellint.runtime.tracing import Request, TargetReport, default_jobs, trace_targets

__all__ = ["DETECTORS", "Pool", "PoolError", "Request", "TargetReport", "default_jobs", "trace_targets"]
