"""What the server looks at on the disk by itself: which files are settings, and when they were written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_SETTINGS = (".yaml", ".yml", ".toml", ".lock")


def configures(path: Path) -> bool:
    """Tell whether what is found may follow from `path` without its being a program."""
    return path.suffix in _SETTINGS or path.name in (".gitignore", "CACHEDIR.TAG")


def content(path: Path) -> bytes | None:
    """Return the bytes of a file, None where there is none."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def stamp(path: Path) -> int | None:
    """Return when a file was written last, in nanoseconds, None where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def stamps(paths: Iterable[Path]) -> dict[Path, int]:
    """Return the stamps of those of `paths` that are there."""
    return {path: found for path in paths if (found := stamp(path)) is not None}
