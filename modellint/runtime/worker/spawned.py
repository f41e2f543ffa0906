"""The child where forking is not possible: the job comes on stdin, the answer goes to what was stdout."""

from __future__ import annotations

import os

from modellint.runtime.worker.main import main as work


def main() -> None:
    """Do one job; what the model prints goes to stderr."""
    answer = os.dup(1)
    os.dup2(2, 1)
    work(0, answer)
