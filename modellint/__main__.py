"""`python -m modellint` is the command `modellint`."""

from __future__ import annotations

from modellint.cli import main

if __name__ == "__main__":  # a process that is spawned imports this again
    main()
