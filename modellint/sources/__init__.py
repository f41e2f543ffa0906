"""What a file is: Python, notebook cells; which files there are, and which are worth parsing."""

from modellint.sources.discovery import absolute, discover, shown
from modellint.sources.globs import Glob
from modellint.sources.prefilter import Prefilter
from modellint.sources.python import Read, SourceError, SourceFile, from_disk, read_source

__all__ = [
    "Glob",
    "Prefilter",
    "Read",
    "SourceError",
    "SourceFile",
    "absolute",
    "discover",
    "from_disk",
    "read_source",
    "shown",
]
