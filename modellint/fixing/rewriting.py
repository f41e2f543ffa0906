"""A file with edits applied, byte for byte as it was elsewhere: encoding, byte order mark, line ends."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from modellint.diagnostic import Edit
from modellint.fixing.notebooks import rewrite_notebook
from modellint.fixing.texts import NotRewritable, rewrite_text
from modellint.sources.python import encoding_of


def rewrite(path: Path, data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `data`, the content of `path`, with `edits` applied, which do not overlap.

    Raises `NotRewritable` where that cannot be done.
    """
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding)
        if text.encode(encoding) != data:
            raise NotRewritable(f"{encoding} does not give back the same bytes")
        if path.suffix == ".ipynb":
            return rewrite_notebook(text, edits).encode(encoding)
        return rewrite_text(text, edits).encode(encoding)
    except (UnicodeError, IndexError) as error:
        raise NotRewritable(str(error)) from error
