"""What checks files: one maker for each language, loaded when a file of that language comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from modellint.diagnostic import Diagnostic
from modellint.settings import Settings
from modellint.sources import Read, SourceFile, from_disk

if TYPE_CHECKING:
    pass


class Checker(Protocol):
    """What the static pass looks like from here."""

    def check(self, source: SourceFile) -> list[Diagnostic]:
        """Return the raw findings of one file; raise `SyntaxError` if it does not parse."""
        ...

    def foresee(self, path: Path) -> None:
        """Gather what is known of a file that will be checked before anything else is."""
        ...

    def changed(self, path: Path) -> None:
        """Take notice that the content of `path` may be another one than it was."""
        ...


MakeChecker = Callable[[Settings, Path, Callable[[Path], bool]], Checker]


def go_on() -> None:
    """Let a check go on."""


def make_analyzer(
    settings: Settings,
    root: Path,
    is_checked: Callable[[Path], bool],
    read: Read = from_disk,
    checkpoint: Callable[[], None] = go_on,
    edited: bool = False,
    alone: bool = False,
) -> Checker:
    """Return the static pass for the project at `root`; `is_checked` tells of other files whether they get a report."""
    from modellint.static import Analyzer

    return Analyzer(
        settings.rules,
        settings.frameworks,
        root,
        is_checked,
        settings.deep,
        read,
        checkpoint,
        edited=edited,
        alone=alone,
    )


def make_burn_analyzer(settings: Settings, read: Read = from_disk) -> Checker:
    """Return the pass over Rust files; it finds each file's crate and workspace by itself."""
    from modellint.burn import Analyzer

    return Analyzer(settings.rules, read)


def language_of(path: Path) -> str:
    """Return the kind of rules that read a file: `rust` or `python`."""
    return "rust" if path.suffix == ".rs" else "python"
