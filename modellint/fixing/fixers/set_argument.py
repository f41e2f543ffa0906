"""Set an argument of the call that the finding marks: `torch.load(path)` gets `weights_only=True`."""

from __future__ import annotations

import libcst as cst

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.arguments import argument, has_stars, with_argument
from modellint.fixing.document import Change, Document


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Set the argument `argument` to the expression `value`, both options of the fixer.

    With the option `position` (0-based) it may have been given without its name.
    """
    assert rule.fix is not None
    options = rule.fix.options
    call = document.at(finding.span, cst.Call)
    name = options["argument"]
    if call is None or (has_stars(call) and argument(call, name) is None):
        return None
    value = cst.parse_expression(str(options["value"]))
    fresh = with_argument(call, name, value, options.get("position"))
    return Change(document.replaced(call, fresh), f"Set `{name}={options['value']}`", safe=True)
