"""`python -m modellint` is the command `modellint`."""

from __future__ import annotations

from modellint.cli import main

main()
