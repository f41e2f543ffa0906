"""Repairs: a finding becomes text edits, and text edits become a new file that is otherwise as it was.

Findings are fixed with LibCST, which keeps comments and layout; it is imported when the first fix is asked for.
"""

from modellint.fixing.edits import compatible
from modellint.fixing.proposing import FixerCrash, propose
from modellint.fixing.rewriting import rewrite
from modellint.fixing.texts import NotRewritable

__all__ = ["FixerCrash", "NotRewritable", "compatible", "propose", "rewrite"]
