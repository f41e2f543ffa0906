"""The runtime pass behind `check --trace`: torch is imported in the child while the static pass still runs."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from modellint.cli._output import fail
from modellint.cli._tracing import Traced, trace_all
from modellint.linting.tracing import configured
from modellint.runtime import Pool, PoolError
from modellint.settings import Settings


class SecondPass:
    """Traces the models of the configuration: begun by its construction, brought home by `finish`."""

    def __init__(self, settings: Settings, root: Path, *, quiet: bool) -> None:
        """Start the child for the project at `root`; leave with exit status 2 where no model is configured."""
        self.settings = settings
        self._root = root
        self._quiet = quiet
        self._requests = configured(settings)
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
            return trace_all(self._requests, self.settings, self._root, jobs=None, quiet=self._quiet, pool=self._pool)
