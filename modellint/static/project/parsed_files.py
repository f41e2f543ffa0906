"""The files of a project: parsed on demand, kept as long as their text is the same, their trees within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from modellint.sources import Read, SourceError, SourceFile, read_source
from modellint.sources.notebook import code_of
from modellint.sources.projects import python_files
from modellint.static.project.facts import ModuleInfo
from modellint.static.project.mentions import Mentions
from modellint.static.project.scanning import scan
from modellint.static.project.trees import parse_text

if TYPE_CHECKING:
    from modellint.static.project.adopting import Shifts

# Trees are dropped between two files once the texts behind them pass this size: a tree takes 25 to 60 times the
# memory of its text.
TREE_BUDGET = 600_000


class ParsedFiles:
    """The files below `root`, as far as they were asked for.

    `version` counts how often a file got another text: what was derived from the old one is void then, and `on_change`
    is called. `edits` are, where they are watched, the files that did since somebody emptied the list, with the new
    version and what stayed of the one before. `read` gives the content of a file: an editor's, where that is newer
    than the disk's.
    """

    def __init__(self, root: Path, read: Read, on_change: Callable[[], None]) -> None:
        self._root = root
        self._read = read
        self._on_change = on_change
        self.version = 0
        self._modules: dict[Path, ModuleInfo | None] = {}
        self._shared_names: dict[frozenset[str], frozenset[str]] = {}
        self._held = 0  # characters behind the trees in memory, as far as it is known
        self._words: Mentions | None = None
        self.edits: list[tuple[Path, ModuleInfo | None, Shifts | None]] | None = None

    def watch_edits(self) -> None:
        """Keep what stays of a file that gets another text, and note in `edits` which ones did."""
        self.edits = []

    def take_edits(self) -> list[tuple[Path, ModuleInfo | None, Shifts | None]]:
        """Return `edits`, and begin a new list."""
        edits, self.edits = self.edits or [], []
        return edits

    @property
    def loaded(self) -> Iterator[ModuleInfo]:
        """The files that were read so far."""
        return (module for module in self._modules.values() if module is not None)

    def tables(self) -> Iterator[tuple[str, str]]:
        """Yield the path of every file that was parsed, with a digest of what looking up a name in it goes by."""
        for path, module in self._modules.items():
            yield str(path), "" if module is None else module.table()

    def add(self, source: SourceFile) -> ModuleInfo:
        """Parse `source` and make it the project's version of its file; raise `SyntaxError` if it does not parse."""
        known = self._modules.get(source.path)
        if known is not None and known.text == source.text:
            known.syntax.restore()
            known.cells, known.numbers = source.cells, source.numbers
            return known
        module = self._scanned(source)
        if known is not None:  # the old one may be known under any name
            self._replaced(source.path, source.text.encode(errors="replace"), known, module)
        self._modules[source.path] = module
        return module

    def _scanned(self, source: SourceFile) -> ModuleInfo:
        module = scan(source.path, source.text, parse_text(source.text, source.path), self._shared_names)
        module.cells, module.numbers = source.cells, source.numbers
        return module

    def changed(self, path: Path) -> None:
        """Read `path` again, whose content may be another one; a text that does not parse leaves the last good one."""
        if path not in self._modules:
            if self._words is not None and path in self._words:
                with suppress(OSError):
                    self._mention(path, self._code(path))
            return
        known = self._modules[path]
        if known is not None and self._text(path) == known.text:
            return
        del self._modules[path]
        if self.module(path) is None and known is not None:
            self._modules[path] = known
        fresh = self._modules[path]
        if fresh is not known:
            self._replaced(path, fresh.text.encode(errors="replace") if fresh is not None else b"", known, fresh)

    def _text(self, path: Path) -> str | None:
        try:
            return read_source(path, self._read(path)).text
        except (SourceError, OSError):
            return None

    def _replaced(self, path: Path, text: bytes, old: ModuleInfo | None, new: ModuleInfo | None) -> None:
        if self.edits is not None:
            from modellint.static.project.adopting import adopt

            shifts = adopt(old, new) if old is not None and new is not None else None
            self.edits.append((path, new, shifts))
        self._on_change()
        self._mention(path, text)
        self.version += 1

    def _mention(self, path: Path, text: bytes) -> None:
        """Keep `holders` true for the new `text` of a file."""
        if self._words is not None and path in self._words:
            self._words.replace(path, text)

    def module(self, path: Path) -> ModuleInfo | None:
        """Return the file `path`, which is parsed when first asked for; None if it cannot be."""
        if path not in self._modules:
            try:
                source = read_source(path, self._read(path))
                try:
                    module = self._scanned(source)
                except SyntaxError:
                    from modellint.sources.readable import readable_part  # few files need it

                    module = self._scanned(readable_part(source)[0])
                self._held += module.syntax.size
                if self._held > TREE_BUDGET:  # an import leads to hundreds of files, of which most are asked for names
                    module.syntax.let_go()
                self._modules[path] = module
            except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError, OSError):
                self._modules[path] = None
        return self._modules[path]

    def trim(self, keep: ModuleInfo) -> None:
        """Let go of the oldest trees, `keep` excepted, where together they are too large; their facts stay."""
        held = [m.syntax for m in self._modules.values() if m is not None and m is not keep and m.syntax.held]
        self._held = sum(syntax.held for syntax in held)
        for syntax in sorted(held, key=lambda syntax: syntax.turn):
            if self._held <= TREE_BUDGET:
                break
            self._held -= syntax.held
            syntax.let_go()

    def holders(self, word: str) -> tuple[Path, ...]:
        """Return the project's Python files and notebooks whose code holds `word`."""
        if self._words is None:
            self._words = Mentions(python_files(self._root), self._code)
        return self._words.of(word)

    def _code(self, path: Path) -> bytes:
        """Return the content of a file, of a notebook its code; raise `OSError` where it cannot be read."""
        data = self._read(path)
        return code_of(data) if path.suffix == ".ipynb" else data
