"""What the configuration comes down to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from modellint.catalog import ActiveRule, Framework, Rule
from modellint.diagnostic import Confidence, Severity
from modellint.sources import Glob


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says; None and empty mean that it says nothing.

    `config` is the one configuration file to use, `isolated` that none counts.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_confidence: Confidence | None = None
    fail_on: Severity | None = None
    deep: bool = False
    isolated: bool = False
    config: Path | None = None


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A model of `models:`. Relative paths count from `base`; `timeout` is in seconds."""

    name: str
    target: str
    inputs: tuple[str, ...]
    mode: str
    method: str | None
    timeout: float | None
    rules: Mapping[str, ActiveRule]
    base: Path


@dataclass(frozen=True, slots=True)
class Settings:
    """What counts for a folder.

    `source` is the configuration file, None for the defaults. `rules` are those that run, `catalogue` all there
    are, the user's own included. `per_file_ignores` holds the codes to drop by pattern. `deep` follows names into
    installed packages.
    """

    source: Path | None
    catalogue: Mapping[str, Rule]
    rules: Mapping[str, ActiveRule]
    frameworks: tuple[Framework, ...]
    per_file_ignores: tuple[tuple[Glob, frozenset[str]], ...] = ()
    exclude: tuple[Glob, ...] = ()
    min_confidence: Confidence = Confidence.LIKELY
    fail_on: Severity = Severity.WARNING
    deep: bool = False
    models: tuple[ModelSettings, ...] = field(default=())

    def excludes(self, path: Path) -> bool:
        """Tell whether `exclude` names the absolute `path` or a folder around it."""
        return any(glob.matches(path) for glob in self.exclude)

    def ignored_in(self, path: Path) -> frozenset[str]:
        """Return the codes that `per-file-ignores` drops in the file `path`."""
        return frozenset().union(*(codes for glob, codes in self.per_file_ignores if glob.matches(path)))
