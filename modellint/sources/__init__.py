"""What a file is: Python, notebook cells; which files there are, and which are worth parsing."""

from modellint.sources.discovery import absolute, discover, shown
from modellint.sources.globs import Glob
from modellint.sources.prefilter import Prefilter
from modellint.sources.python import SourceError, SourceFile, read_source

__all__ = ["Glob", "Prefilter", "SourceError", "SourceFile", "absolute", "discover", "read_source", "shown"]
