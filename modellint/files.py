"""Files that modellint writes: each in one step, and where those go that belong to no project."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def replace_file(file: Path, data: bytes, mode: int) -> None:
    """Make `data` the content of `file` in one step, and `mode` its permissions; raise `OSError` where that fails.

    A link keeps leading to its file. A device or a pipe (`/dev/null`, `/dev/stdout`) is written to, never replaced.
    """
    import tempfile

    file = Path(os.path.realpath(file))
    if file.exists() and not file.is_file():
        with file.open("wb") as device:
            device.write(data)
        return
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        fresh.chmod(mode)
        fresh.replace(file)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def user_cache() -> Path | None:
    """Return the user's folder for what can be worked out again, None where the system knows none."""
    named, below = {
        "win32": ("LOCALAPPDATA", "AppData/Local"),
        "darwin": ("", "Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    given = os.environ.get(named, "") if named else ""
    if given and Path(given).is_absolute():
        return Path(given) / "modellint"
    try:
        return Path.home() / below / "modellint"
    except RuntimeError:  # a user that the system does not know
        return None
