"""The verdict on traced models: what the probes proved, as one document, shown as JSON or as a page of its own."""

from modellint.report.verdict.content import content
from modellint.report.verdict.page import page

__all__ = ["content", "page"]
