"""The command line: `main`. `check` with plain options, what most runs are, goes past click and its import."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_FAILURE = 2
_INTERRUPTED = 130  # 128 + SIGINT, what a shell expects


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    from modellint.cli._output import Failure, complain

    try:
        status = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except Failure as error:
        for line in str(error).splitlines():
            complain(line)
        status = _FAILURE
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except BrokenPipeError:
        # the reader has had enough; nothing may be flushed into the closed pipe on the way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = _INTERRUPTED
    except OSError as error:  # such as a working directory that is gone
        complain(str(error))
        status = _FAILURE
    sys.exit(status)


def _run(arguments: Sequence[str]) -> int:
    from modellint.cli._plain import parse

    if (plain := parse(arguments)) is not None:
        from modellint.cli._checking import run

        return run(*plain)
    from modellint.cli._app import run_app

    return run_app(arguments)
