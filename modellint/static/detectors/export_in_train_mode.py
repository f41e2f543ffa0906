"""A model is exported, traced or converted while in training mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Severity
from modellint.static.confidence import Case, weighed
from modellint.static.context import FileContext, Finding
from modellint.static.dependence import NO
from modellint.static.evidence import wrong_call
from modellint.static.flow.events import EXPORT, Event, Snapshot
from modellint.static.flow.frames import site_of
from modellint.static.flow.vocabulary import PREPARING_CLASS
from modellint.static.guards import own
from modellint.static.hidden import is_filled_later
from modellint.static.merge import merged
from modellint.static.naming import speaks_of_inference
from modellint.static.project import ClassInfo
from modellint.static.project.names import arguments_of, last_name
from modellint.static.purpose import is_test_code
from modellint.static.sites import Place, places
from modellint.static.snapshots import in_eval, in_train, open_mode


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the exporters named in the detector's option `exporters` when their model is in training mode."""
    exporters = set(rule.rule.detector_options["exporters"])
    trained = {e.key.oid: order for order, e in enumerate(context.flow.events) if e.training}
    found = []
    for place in places(context, EXPORT):
        finding = _judge(place, exporters, trained, context)
        if finding is not None:
            found.append(((place.site,), finding))
    yield from merged(found)


def _judge(place: Place, exporters: set[str], trained: dict[int, int], context: FileContext) -> Finding | None:
    events = [
        e
        for e in place.events
        if e.key.detail in exporters and not is_test_code(e) and "add_graph" not in e.function.callees
        if not _is_to_be_trained(e)
    ]  # a graph drawn for a log is not shipped
    bad = [(e, s) for e in events for s in e.snapshots if in_train(s) and not is_filled_later(s.obj, context.classes)]
    bad = [(e, s) for e, s in bad if not _prepares_data(s)]
    good = [e for e in events if all(in_eval(s) for s in e.snapshots)]
    if not bad:
        if any(open_mode(s) for e in events for s in e.snapshots):
            event = events[0]
            return Finding(place.site, {"exporter": event.text}, Confidence.POSSIBLE)
        return None
    event, snapshot = bad[0]
    site = place.site
    if good:
        call = wrong_call(event, good)
        if call is None:
            return None
        site = call.site
    scripted = event.key.detail == "torch.jit.script"
    learns = scripted and event.key.oid in trained
    goes_on = learns and (not event.after_training or _is_trained_again(event, trained, context))
    if scripted and (goes_on or not _is_saved(event)):
        return None  # scripted for speed, or kept to go on from: the flag can still be changed
    related = tuple((f.site, f"in training mode since {f.how}") for f in snapshot.modes if f.site is not None)
    severity = Severity.INFO if snapshot.obj.depends == NO else Severity.WARNING if learns else None
    sure = Confidence.LIKELY if learns else Confidence.CERTAIN
    confidence = weighed("ML109", sure, Case(event, snapshot, context))
    return Finding(site, {"exporter": event.text}, confidence, severity, related=related)


def _prepares_data(snapshot: Snapshot) -> bool:
    """Tell whether what is exported is a tokenizer or the like, by the name of its class."""
    cls = snapshot.obj.cls
    name = cls.name if isinstance(cls, ClassInfo) else (cls or "").rpartition(".")[2]
    return PREPARING_CLASS.search(name) is not None


def _is_saved(event: Event) -> bool:
    """Tell whether what is made is saved: `made.save(path)`, `torch.jit.save(made, path)`, or without a name for it.

    Not where it is put into evaluation mode itself: the flag of what was scripted counts.
    """
    switched = (call.func.value for call in event.function.calls_of("eval") if isinstance(call.func, ast.Attribute))
    if not _names_of(event).isdisjoint(map(ast.unparse, switched)):
        return False
    made = {ast.unparse(call) for call in event.function.calls if _is_made_by(event, call)} | _names_of(event)
    saves = event.function.calls_of("save")
    saved = [call.func.value for call in saves if isinstance(call.func, ast.Attribute)]
    return any(ast.unparse(node) in made for node in (*saved, *(arg for call in saves for arg in call.args)))


def _is_trained_again(event: Event, trained: dict[int, int], context: FileContext) -> bool:
    """Tell whether a model is trained after it was scripted, or is saved as a checkpoint, to go on from."""
    if trained[event.key.oid] > context.flow.events.index(event):
        return True
    saved = [ast.unparse(call) for call in event.function.calls_of("save")]
    return any(_CHECKPOINT.search(text) for text in (event.function.name, *saved))


_CHECKPOINT = re.compile(r"checkpoint|ckpt|resume|snapshot", re.I)


def _is_to_be_trained(event: Event) -> bool:
    """Tell whether what is traced is kept for training: its name says so, or an optimizer gets it, or `train()`.

    Or a trainer is built with it, or it is called and a loss goes backward.
    """
    names = _names_of(event)
    later = [call for call in event.function.calls if call.lineno > event.site.row]
    trained = {
        ast.unparse(call.func.value)
        for call in later
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("train", "parameters")
    }
    trained |= {ast.unparse(arg) for call in later if _sets_up_training(call) for arg in arguments_of(call)}
    if any(last_name(call.func) == "backward" for call in later):
        trained |= {ast.unparse(call.func) for call in later}
    return any(speaks_of_inference(name) is False or name in trained for name in names)


def _sets_up_training(call: ast.Call) -> bool:
    """Tell whether a call makes a trainer of what it is given, or readies it beside its optimizer or its parameters.

    `deepspeed.initialize(model=traced, model_parameters=groups)`, `accelerator.prepare(traced, optimizer)`.
    """
    name = last_name(call.func) or ""
    beside = {last_name(argument) for argument in call.args} | {keyword.arg for keyword in call.keywords}
    return name.endswith("Trainer") or (name in ("initialize", "prepare") and not _TRAINS_WITH.isdisjoint(beside))


_TRAINS_WITH = frozenset({"optimizer", "optim", "opt", "model_parameters"})


def _names_of(event: Event) -> set[str]:
    """Return what the function calls the result of the exporter."""
    assigned = [node for node in own(event.function, ast.Assign) if _is_made_by(event, node.value)]
    return {ast.unparse(target) for node in assigned for target in node.targets}


def _is_made_by(event: Event, node: ast.expr) -> bool:
    return site_of(event.function.module, node) == event.site
