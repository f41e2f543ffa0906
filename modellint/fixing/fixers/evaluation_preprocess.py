"""Take the preprocess that is meant for evaluation: the other one of the pair, or the pipeline with its flag off."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from modellint.catalog import Rule
from modellint.diagnostic import Diagnostic
from modellint.fixing.arguments import argument, has_stars, with_argument
from modellint.fixing.document import Change, Document, Rewrite
from modellint.fixing.names import last_name


def fix(document: Document, finding: Diagnostic, rule: Rule) -> Change | None:
    """Repair a training preprocess at its use, or the factory that was asked for one; transforms stay as they are."""
    options = rule.detector_options
    call = document.at(finding.span, cst.Call)
    if call is not None:
        flags = {name.rsplit(".", 1)[-1]: flag for name, flag in options["training-flags"].items()}
        flag = flags.get(last_name(call))
        if flag is not None:
            given = argument(call, flag["name"], flag["position"])
            if has_stars(call) or given is None:
                return None
            fresh = with_argument(call, flag["name"], cst.Name("False"), flag["position"])
            return Change(document.replaced(call, fresh), f"Set `{flag['name']}=False`")
    used = _used(document, finding)
    places = {name.rsplit(".", 1)[-1]: place for name, place in options["training-preprocess"].items()}
    for assignment in m.findall(document.module, m.Assign()):
        if used is None or not isinstance(assignment, cst.Assign) or not isinstance(assignment.value, cst.Call):
            continue
        place = places.get(last_name(assignment.value))
        target = assignment.targets[0].target
        if place is None or len(assignment.targets) != 1 or not isinstance(target, cst.Tuple):
            continue
        names = [element.value.value for element in target.elements if isinstance(element.value, cst.Name)]
        if len(names) != len(target.elements) or len(names) != place + 2 or names[place] != used.value:
            continue
        return _swap(document, target, place, used, names)
    return None


def _used(document: Document, finding: Diagnostic) -> cst.Name | None:
    """Return the preprocess where it is used: a name, or what is called by a name."""
    name = document.at(finding.span, cst.Name)
    call = document.at(finding.span, cst.Call)
    return name if name is not None else call.func if call is not None and isinstance(call.func, cst.Name) else None


def _swap(document: Document, target: cst.Tuple, place: int, used: cst.Name, names: list[str]) -> Change:
    training, evaluation = target.elements[place], target.elements[place + 1]
    if not names[place + 1].startswith("_"):  # both are in use: the wrong one was taken here
        other = names[place + 1]
        return Change(document.replaced(used, cst.Name(other)), f"Use `{other}`")
    rewrites: dict[cst.CSTNode, Rewrite] = {
        training.value: lambda _: evaluation.value.deep_clone(),
        evaluation.value: lambda _: training.value.deep_clone(),
    }
    return Change(document.rewritten(rewrites), f"Take `{used.value}` from the place of the evaluation preprocess")
