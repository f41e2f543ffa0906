"""Which file an import names: by the folders around the importing file, and how files are called in imports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


class ImportPaths:
    """The files below `root` as imports name them; what was looked up is remembered."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[tuple[Path, str, int], Path | None] = {}
        self._listings: dict[Path, frozenset[str]] = {}
        self._dotted: dict[Path, str] = {}

    @property
    def folders(self) -> Iterable[Path]:
        """The folders whose names were looked up."""
        return self._listings

    def dotted(self, path: Path) -> str:
        """Return the dotted name of the module at `path`, as far up as there are packages."""
        if path not in self._dotted:
            parts = [] if path.name == "__init__.py" else [path.stem]
            folder = path.parent
            while "__init__.py" in self._listing(folder) and folder != folder.parent:
                parts.append(folder.name)
                folder = folder.parent
            self._dotted[path] = ".".join(reversed(parts)) or path.parent.name
        return self._dotted[path]

    def find(self, path: Path, dotted: str, level: int) -> Path | None:
        """Return the file or folder that `dotted` means when imported from the file `path`."""
        key = (path if dotted == path.stem else path.parent, dotted, level)
        if key not in self._found:
            self._found[key] = self._find(path, dotted, level)
        return self._found[key]

    def _find(self, path: Path, dotted: str, level: int) -> Path | None:
        if level:
            folder = path.parent
            for _ in range(level - 1):
                folder = folder.parent
            return self._descend(folder, dotted)
        for folder in self._search_path(path):
            found = self._descend(folder, dotted)
            # `import torch` in one's own torch.py is another; `from package import part` in its __init__.py is not
            if found is not None and (found != path or path.name == "__init__.py"):
                return found
        return None

    def _search_path(self, path: Path) -> Iterator[Path]:
        folders = [path.parent]
        while folders[-1] != self._root and folders[-1] != folders[-1].parent and self._root in folders[-1].parents:
            folders.append(folders[-1].parent)
        yield from folders
        for folder in folders:  # `src` layouts, and what scripts put into `sys.path`
            yield from (folder / name for name in ("src", "lib") if name in self._listing(folder))

    def _descend(self, folder: Path, dotted: str) -> Path | None:
        here: Path | None = folder
        parts = dotted.split(".") if dotted else []
        for index, part in enumerate(parts, 1):
            if here is None:
                return None
            if here.name == "__init__.py":
                here = here.parent
            here = self.inside(here, part) or self._mere_folder(here, part, index < len(parts))
        if here is folder:  # `from . import x`
            return folder / "__init__.py" if "__init__.py" in self._listing(folder) else folder
        return here

    def inside(self, folder: Path, name: str) -> Path | None:
        """Return the file or folder that `name` means in the package or folder `folder`."""
        listing = self._listing(folder)
        if name in listing:
            inner = folder / name
            if "__init__.py" in self._listing(inner):
                return inner / "__init__.py"
            if f"{name}.py" not in listing and any(n.endswith(".py") for n in self._listing(inner)):
                return inner
        return folder / f"{name}.py" if f"{name}.py" in listing else None

    def _mere_folder(self, folder: Path, name: str, is_on_the_way: bool) -> Path | None:
        """Return a folder without files of Python, where an import leads through it: `import tasks.speech.nets`."""
        inner = folder / name
        return inner if is_on_the_way and name in self._listing(folder) and self._listing(inner) else None

    def _listing(self, folder: Path) -> frozenset[str]:
        if folder not in self._listings:
            try:
                self._listings[folder] = frozenset(os.listdir(folder))  # noqa: PTH208 - names alone
            except OSError:
                self._listings[folder] = frozenset()
        return self._listings[folder]
