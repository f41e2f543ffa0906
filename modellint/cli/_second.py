"""The runtime pass behind `check --trace`: torch is imported in the child while the static pass still runs."""

from __future__ import annotations

import threading
from contextlib import suppress

from modellint.cli._output import fail
from modellint.cli._running import configured
from modellint.cli._tracing import Traced, trace_all
from modellint.runtime import Pool, PoolError
from modellint.settings import Settings

_NOTHING_GIVEN = dict.fromkeys(("inputs", "mode", "method", "timeout", "memory", "network"))


class SecondPass:
    """Traces the models of the configuration: begun by its construction, brought home by `finish`."""

    def __init__(self, settings: Settings, *, quiet: bool) -> None:
        """Start the child; leave with exit status 2 where the configuration names no model."""
        self.settings = settings
        self._quiet = quiet
        self._requests = configured(settings, {**_NOTHING_GIVEN, "network": False})
        if not self._requests:
            fail("--trace: the configuration names no model; list `models:` in .modellint.yaml")
        self._pool = Pool()
        threading.Thread(target=self._start, daemon=True).start()

    def _start(self) -> None:
        with suppress(PoolError, OSError):  # told by the first job
            self._pool.start()

    def finish(self) -> Traced:
        """Trace the models and return what was found."""
        with self._pool:
            return trace_all(self._requests, self.settings, jobs=None, quiet=self._quiet, pool=self._pool)
