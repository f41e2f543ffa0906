"""Which folders the editor works in, and which text of a file counts: an open file's in the editor, else the disk's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from modellint.linting.kept import kept_file
from modellint.server.documents import Open
from modellint.server.folders import Folder
from modellint.server.stamps import stamps
from modellint.settings import NAMES, Overrides


class Workspace:
    """The folders, and the files that are open. `checkpoint` is called now and then while a folder checks a file.

    `opened` holds the open files by path, `singles` is for those outside of all folders.
    """

    def __init__(self, checkpoint: Callable[[], None]) -> None:
        self.opened: dict[Path, Open] = {}
        self._buffers: dict[Path, bytes] = {}
        self._checkpoint = checkpoint
        self._overrides = Overrides()
        self.singles = Folder(None, self._overrides, self._read, checkpoint)
        self.folders: tuple[Folder, ...] = ()
        self._stamps: dict[Path, int] = {}

    def begin(self, roots: Iterable[Path], overrides: Overrides) -> None:
        """Have the folders `roots` with the options `overrides`; those that were there stay."""
        self._overrides = overrides
        known = {folder.root: folder for folder in self.folders}
        self.folders = tuple(
            known.get(root) or Folder(root, overrides, self._read, self._checkpoint) for root in dict.fromkeys(roots)
        )

    @property
    def every(self) -> tuple[Folder, ...]:
        """All folders, that of single files last."""
        return (*self.folders, self.singles)

    def folder(self, path: Path) -> Folder:
        """Return the innermost folder around `path`."""
        around = [folder for folder in self.folders if folder.root is not None and folder.root in path.parents]
        return max(around, key=lambda folder: len(folder.root.parts) if folder.root else 0, default=self.singles)

    def put(self, document: Open) -> None:
        """Take the text of an open file."""
        self.opened[document.path] = document
        self._buffers[document.path] = document.data

    def remove(self, document: Open) -> bytes | None:
        """Let the disk count again for a file; return the text that counted."""
        self.opened.pop(document.path, None)
        return self._buffers.pop(document.path, None)

    def loading(self, folder: Folder) -> Callable[[], None]:
        """Return what reads the configuration of `folder`, and its list of files, again, as `Folder.load` does."""
        overrides, alone = self._overrides, [path for path in self.opened if self.folder(path) is self.singles]
        return lambda: folder.load(overrides, alone)

    def note_stamps(self) -> None:
        """Remember when the files that configure were written."""
        self._stamps = self._current_stamps()

    def is_restamped(self) -> bool:
        """Tell whether one of the files that configure was written since."""
        return self._current_stamps() != self._stamps

    def _current_stamps(self) -> dict[Path, int]:
        around = {parent for path in self.opened for parent in path.parents}
        around |= {folder.root for folder in self.folders if folder.root is not None}
        candidates = {folder / name for folder in around for name in NAMES}
        for folder in self.every:
            candidates |= {*folder.sources, kept_file(folder.project)}
        return stamps(candidates)

    def _read(self, path: Path) -> bytes:
        data = self._buffers.get(path)
        return path.read_bytes() if data is None else data
