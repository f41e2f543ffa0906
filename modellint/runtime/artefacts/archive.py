"""Zip archives of torch, opened with suspicion. No torch."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from modellint.runtime.artefacts.common import ArtefactProblem, one_line

_ENCRYPTED = 0x1
_PACKED = 100
"""How many times its packed size a member may have: torch packs nothing, so more is a bomb."""


@contextmanager
def opened(path: Path, what: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive of torch; `what` names what it should be. Raises `ArtefactProblem`, also for errors inside."""
    if not path.stat().st_size:
        raise ArtefactProblem(f"{path}: is empty")
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.flag_bits & _ENCRYPTED:
                    raise ArtefactProblem(f"{path}: is protected by a password")
                if member.file_size > max(member.compress_size, 1 << 14) * _PACKED:
                    size = f"{member.compress_size:,} bytes unpack to {member.file_size:,}"
                    raise ArtefactProblem(f"{path}: {member.filename}: {size}: not unpacked")
            yield archive
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise ArtefactProblem(f"{path}: is no {what}, or is damaged: {one_line(error)}") from None


def is_scripted(path: Path) -> bool:
    """Tell whether a file is TorchScript's: an archive that holds code and a table of constants."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("/constants.pkl") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False
