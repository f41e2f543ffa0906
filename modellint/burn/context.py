"""What a detector of Rust defects gets to see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from modellint.burn.backends import Backends
from modellint.burn.carriers import Carriers
from modellint.burn.conduct import Conduct
from modellint.burn.crates import Dependency
from modellint.burn.items import RustFile
from modellint.burn.project import Project
from modellint.diagnostic import Confidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Spot:
    """A node and the file it stands in."""

    path: Path
    node: Node


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect at a place; `names` fill the rule's message."""

    spot: Spot
    names: Mapping[str, str]
    confidence: Confidence = Confidence.CERTAIN
    related: tuple[tuple[Spot, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RustContext:
    """One file and the project around it."""

    file: RustFile
    project: Project
    backends: Backends
    conduct: Conduct
    carriers: Carriers
    burn: Dependency | None = None

    def since(self, *version: int) -> bool | None:
        """Tell whether the project's Burn is at least `version`; None where the version is unknown."""
        if self.burn is None or self.burn.version is None:
            return None
        return self.burn.version >= (*version, 0, 0)[:3]
