"""The static pass: reads Python, never runs it, and never imports torch."""

from modellint.static.analyzer import Analyzer

__all__ = ["Analyzer"]
