"""From the paths of the command line to the files that are checked."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cache
from pathlib import Path
from typing import Any

SUFFIXES = (".py", ".ipynb", ".rs")
# Folders that hold no source of the project itself; `exclude` adds to them.
DEFAULT_EXCLUDES = frozenset(
    {
        ".bzr", ".direnv", ".doctrees", ".eggs", ".git", ".hg", ".hypothesis", ".ipynb_checkpoints", ".modellint_cache",
        ".mypy_cache",
        ".nox", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode",
        "__pycache__", "__pypackages__", "build", "dist", "node_modules", "site-packages", "venv",
    }
)  # fmt: skip

Report = Callable[[Path, str], None]


def _ignore(path: Path, message: str) -> None:
    """Drop what could not be visited."""


def discover(
    paths: Iterable[Path],
    excluded: Callable[[Path], bool] = lambda path: False,
    missing: Report = _ignore,
    skipped: Report = _ignore,
    others: Set[str] = frozenset(),
) -> Iterator[Path]:
    """Yield the absolute paths of the files that `paths` mean, folder by folder in sorted order, none twice.

    A file named by the caller is yielded whatever its suffix and whatever `excluded` says. A folder is
    walked: Python files, notebooks and Rust files, without `DEFAULT_EXCLUDES`, folders that call themselves a cache (by
    a `CACHEDIR.TAG`, as Cargo's `target` does), what git ignores and what `excluded` names.
    `missing` hears of named paths that are no file and no folder, `skipped` of such entries met on a walk.
    A folder met on the walk that holds one of the names `others` is left out.
    """
    seen: set[Path] = set()
    for path in map(absolute, paths):
        kind = _kind(path)
        if kind == "folder":
            walk = _walk(path, excluded, skipped, others | {"CACHEDIR.TAG"})
        elif kind == "file":
            walk = iter((path,))
        else:
            missing(path, kind)
            continue
        for found in walk:
            if found not in seen:
                seen.add(found)
                yield found


def _kind(path: Path) -> str:
    """Return `file`, `folder`, or why `path` is neither."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "is a broken link" if path.is_symlink() else "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except ValueError:
        return "is no path: it holds a null byte"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "is not a regular file"


def _walk(top: Path, excluded: Callable[[Path], bool], skipped: Report, others: Set[str]) -> Iterator[Path]:
    visited: set[tuple[int, int]] = set()
    ignores = _Ignores.above(top)
    stack: list[tuple[Path, _Ignores]] = [(top, ignores)]
    while stack:
        folder, ignores = stack.pop()
        try:
            status = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            skipped(folder, f"cannot be read: {error.strerror or error}")
            continue
        if (status.st_dev, status.st_ino) in visited:  # a link that leads back up
            continue
        visited.add((status.st_dev, status.st_ino))
        if folder != top and any(entry.name in others for entry in entries):
            continue
        ignores = ignores.inside(folder, any(entry.name == ".gitignore" for entry in entries))
        folders = []
        for entry in entries:
            path = folder / entry.name
            is_folder = _is_dir(entry)
            if is_folder:
                if entry.name not in DEFAULT_EXCLUDES and not excluded(path) and not ignores.match(path, True):
                    folders.append((path, ignores))
            elif entry.name.endswith(SUFFIXES) and not excluded(path) and not ignores.match(path, False):
                kind = _kind(path)
                if kind == "file":
                    yield path
                else:
                    skipped(path, kind)
        stack.extend(reversed(folders))


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


class _Ignores:
    """The `.gitignore` files that count in a folder, the outermost first; none outside a git repository."""

    __slots__ = ("_in_git", "_specs")

    def __init__(self, specs: tuple[tuple[Path, Any], ...], in_git: bool) -> None:
        self._specs = specs
        self._in_git = in_git

    @classmethod
    def above(cls, folder: Path) -> _Ignores:
        """Return what counts in the folder above `folder`."""
        parents: list[Path] = []
        for parent in (folder, *folder.parents):
            if (parent / ".git").exists():
                break
            parents.append(parent.parent)
        else:
            return cls((), False)
        ignores = cls((), True)
        for parent in reversed(parents):
            ignores = ignores.inside(parent, (parent / ".gitignore").is_file())
        return ignores

    def inside(self, folder: Path, has_file: bool) -> _Ignores:
        """Return what counts in `folder`, a folder of the one that `self` stands for."""
        specs, in_git = self._specs, self._in_git
        if (folder / ".git").exists():
            specs, in_git = _load(folder / ".git" / "info" / "exclude", folder), True
        if has_file and in_git:
            specs += _load(folder / ".gitignore", folder)
        return self if specs == self._specs and in_git == self._in_git else _Ignores(specs, in_git)

    def match(self, path: Path, is_folder: bool) -> bool:
        """Tell whether git ignores `path`; the innermost file that has an opinion decides."""
        for base, spec in reversed(self._specs):
            relative = path.relative_to(base).as_posix() + ("/" if is_folder else "")
            verdict = spec.check_file(relative).include
            if verdict is not None:
                return bool(verdict)
        return False


@cache
def _load(path: Path, base: Path) -> tuple[tuple[Path, Any], ...]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return ()
    from pathspec import GitIgnoreSpec

    try:
        return ((base, GitIgnoreSpec.from_lines(lines)),)
    except ValueError:  # a pattern that pathspec refuses: git would skip it, too
        return ()


def forget_ignores() -> None:
    """Read `.gitignore` files anew, in a process that outlives their changes."""
    _load.cache_clear()


def absolute(path: Path) -> Path:
    """Return `path` from the root on, without `..`, links kept: findings go by the name the user knows."""
    return Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow links)


def shown(path: Path) -> str:
    """Return `path` as messages show it: relative to the working directory where it lies inside."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return str(path)
