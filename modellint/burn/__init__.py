"""The Rust side: Burn programs, read with tree-sitter."""

from modellint.burn.analyzer import Analyzer
from modellint.burn.syntax import BurnMissing

__all__ = ["Analyzer", "BurnMissing"]
