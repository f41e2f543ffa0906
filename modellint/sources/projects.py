"""Which files belong to the project that starts in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from modellint.sources.discovery import discover

_TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")
_VERSIONED = (".git", ".hg")
ROOT_MARKS = frozenset((*_VERSIONED, "pyproject.toml", "setup.py", "setup.cfg"))

DECLARATIONS = (
    *("pyproject.toml", "setup.py", "setup.cfg"),
    *("requirements.txt", "requirement.txt", "environment.yml", "environment.yaml"),
)
"""Files in which projects declare what they need."""

PROSE = ("README.md", "README.rst", "README.txt", "README")
"""Files in which projects say what they need."""


def is_shared(folder: Path) -> bool:
    """Return whether a folder is one of those that hold everything, where nobody has a project."""
    # the folders that `tempfile` takes, whose import costs a tenth of a run on one file
    temporary = (*_TEMPORARY, *(os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if name in os.environ))
    shared = {Path(folder.anchor), *map(Path, temporary)}
    with suppress(RuntimeError):  # a user that the system does not know
        shared.add(Path.home())
    return folder in shared


def python_files(root: Path) -> Iterator[Path]:
    """Return the Python files and notebooks of the project that starts in `root`, folder by folder in sorted order.

    What lies below and is under version control of its own is another project: a submodule, another clone. Where
    nothing marks `root` as a project, so is what packaging metadata marks as one; and of a folder that holds
    everything only the files count that lie in it.
    """
    if is_shared(root):
        found = discover([root], excluded=Path.is_dir)
    else:
        marked = any((root / mark).exists() for mark in ROOT_MARKS)
        found = discover([root], others=frozenset(_VERSIONED) if marked else ROOT_MARKS)
    return (path for path in found if path.suffix in (".py", ".ipynb"))


def rust_files(folder: Path) -> list[Path]:
    """Return the Rust files below `folder`, sorted, without what Cargo built there."""
    found = []
    for name, folders, files in os.walk(folder):
        folders[:] = [inner for inner in folders if inner != "target"]
        found += [Path(name, file) for file in files if file.endswith(".rs")]
    return sorted(found)
