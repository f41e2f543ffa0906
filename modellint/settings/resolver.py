"""One `Resolver` a run: the settings of every folder, each configuration file read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from modellint.catalog import load_frameworks, load_rules, rules_folder
from modellint.settings.build import build
from modellint.settings.documents import Chain, Configurations
from modellint.settings.model import Overrides, Settings
from modellint.settings.selectors import complaint
from modellint.sources.projects import ROOT_MARKS, is_shared


class SettingsError(ValueError):
    """The command line names a rule that there is not; the message is fit for the user."""


class Resolver:
    """Answers which settings count in a folder; `overrides` is what the command line says.

    `files` are the documents that were read for that, without the shipped rules.
    """

    def __init__(self, overrides: Overrides | None = None) -> None:
        self.overrides = overrides or Overrides()
        self._by_folder: dict[Path, Settings] = {}
        self._by_source: dict[Path | None, Settings] = {}
        self._roots: dict[Path, Path] = {}
        self._configurations = Configurations()
        self.files: set[Path] = set()

    def for_folder(self, folder: Path) -> Settings:
        """Return what counts in the absolute `folder`.

        Raises `DocumentError` for a broken configuration, rule or framework file, `SettingsError` for a
        selector of the command line that means no rule.
        """
        if folder not in self._by_folder:
            self._by_folder[folder] = self._read(self._source(folder))
        return self._by_folder[folder]

    def _source(self, folder: Path) -> Path | None:
        if self.overrides.isolated:
            return None
        return self.overrides.config or self._configurations.nearest(folder)

    def _read(self, source: Path | None) -> Settings:
        if source not in self._by_source:
            chain = Chain() if source is None else self._configurations.chain(source)
            # patterns of a file named by the user count from where the user is, as in ruff
            base = Path.cwd() if self.overrides.config else None
            settings = build(chain, load_rules(), load_frameworks(), self.overrides, base)
            self._check(settings)
            self.files |= {document.path for document in chain.documents} | set(_own(settings))
            self._by_source[source] = settings
        return self._by_source[source]

    def _check(self, settings: Settings) -> None:
        given = self.overrides
        for option, selectors in (
            ("--select", given.select or ()),
            ("--extend-select", given.extend_select),
            ("--ignore", given.ignore),
        ):
            for selector in selectors:
                if message := complaint(selector, settings.catalogue):
                    raise SettingsError(f"{option}: {message}")

    def project_root(self, folder: Path, named: Iterable[Path] = ()) -> Path:
        """Return the folder that the project around `folder` starts in.

        The nearest one with version control or packaging metadata, else with a configuration of ours, else the
        working directory or one of the `named` folders if `folder` lies in it, or else `folder` itself. A package
        begins no project: what is above the outermost one does.
        """
        if folder not in self._roots:
            tops = (top for top in (Path.cwd(), *named) if not is_shared(top))
            self._roots[folder] = _project_root(folder, self._configurations.nearest, tops)
        return self._roots[folder]


def _own(settings: Settings) -> Iterator[Path]:
    shipped = rules_folder()
    paths = [rule.path for rule in settings.catalogue.values()] + [known.path for known in settings.frameworks]
    yield from (path for path in paths if shipped not in path.parents)


def _project_root(folder: Path, nearest: Callable[[Path], Path | None], tops: Iterable[Path]) -> Path:
    for parent in (folder, *folder.parents):
        if any((parent / mark).exists() for mark in ROOT_MARKS):
            return parent
    if (source := nearest(folder)) is not None:
        return source.parent
    for top in tops:
        if top == folder or top in folder.parents:
            above = _above_packages(top)
            return top if is_shared(above) else above
    return _above_packages(folder)


def _above_packages(folder: Path) -> Path:
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder
