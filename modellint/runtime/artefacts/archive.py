"""Zip archives of torch, opened with suspicion. No torch."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from modellint.runtime.artefacts.common import ArtefactProblem, one_line

_ENCRYPTED = 0x1
_LENGTHS_AT = 26
"""Where a member's own header holds the lengths of its name and of what follows it, the last things before the data."""
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


def unchecked(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member as it stands in the file: a bit that has flipped there is for the caller to name.

    Its checksum is passed over where it is stored unpacked, as torch does. Raises `KeyError` and `BadZipFile`.
    """
    member = archive.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED:
        return archive.read(name)
    with path.open("rb") as stream:
        stream.seek(member.header_offset + _LENGTHS_AT)
        stream.seek(sum(struct.unpack("<HH", stream.read(4))), os.SEEK_CUR)
        return stream.read(member.file_size)


def is_scripted(path: Path) -> bool:
    """Tell whether a file is TorchScript's: an archive that holds code and a table of constants."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("/constants.pkl") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False
