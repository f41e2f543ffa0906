"""An Autodiff backend, or a device that records gradients, reaches inference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from modellint.burn.backends import BOUNDS
from modellint.burn.conduct import named_for_inference, path_names_inference
from modellint.burn.context import Finding, RustContext, Spot
from modellint.burn.devices import Devices
from modellint.burn.items import Call, Function
from modellint.burn.project import Elsewhere, Place, Struct
from modellint.burn.syntax import inside, text_of
from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence

if TYPE_CHECKING:
    from tree_sitter import Node


def detect(context: RustContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the place that chooses Autodiff: the type argument, the type, the bound, the device."""
    by_type = context.since(0, 22) is not True
    by_device = context.since(0, 22) is not False
    if not context.carriers.within(context.file.text):
        return
    words = context.carriers.also(context.file.local_names)
    for function in context.file.functions:
        named = words.within(function.text)
        bounded = any(BOUNDS.intersection(bounds) for bounds in function.generics.values())
        if not (bounded or named) or function.is_test:
            continue
        if by_type:
            yield from _types(context, function, named or named_for_inference(function))
        if by_device and "autodiff" in function.text:
            yield from _devices(context, function)


def _types(context: RustContext, function: Function, suspect: bool) -> Iterator[Finding]:
    """Report the type arguments of the calls; of a `suspect` function the types that it works with itself, too."""
    passed: list[Node] = []
    for call in function.calls if "::<" in function.text else ():
        hits = [node for node in call.types if context.backends.records(node, function)]
        bound = [node for node in call.types if context.backends.bound(node, function)]
        passed += call.types
        if not hits and not bound:
            continue
        callee = context.project.callee(function, call)
        if isinstance(callee, Function):
            if not context.conduct.infers(callee) and not context.conduct.of(function).trains:
                callee = _served_by(context, function, call, callee)
            wrong, confidence = context.conduct.infers(callee), Confidence.CERTAIN
        else:
            wrong = isinstance(callee, Elsewhere) and path_names_inference(callee.path)
            wrong, confidence = wrong and not context.conduct.of(function).trains, Confidence.LIKELY
        if not wrong:
            passed = [node for node in passed if node not in call.types] if callee is None else passed
            continue
        # a bound is the callers' choice, unless this function trains with it as well
        if hits or context.conduct.of(function).trains:
            yield _at_call(context, function, call, (hits or bound)[0], callee, confidence)
    if not suspect or not context.conduct.infers(function):
        return
    own = [node for node in function.types if not any(inside(node, other) for other in passed)]
    node = next((node for node in own if context.backends.records(node, function)), None)
    if node is not None:
        yield _at_type(context, function, node)
    elif named_for_inference(function):
        yield from _at_bound(context, function)


def _served_by(context: RustContext, function: Function, call: Call, callee: Function) -> Function:
    """Return the method of inference of the type that a call makes with its type arguments; else what is called."""
    owner = context.project.resolve(Place(function.file, function.module), call.path[:-1]) if callee.owner else None
    method = context.conduct.serves(owner) if isinstance(owner, Struct) else None
    return callee if method is None else method


def _at_call(
    context: RustContext, function: Function, call: Call, node: Node, callee: object, confidence: Confidence
) -> Finding:
    names = {"what": f"`{_short(node)}`", "where": f"`{_short(call.node.child_by_field_name('function'))}`"}
    related = []
    if isinstance(callee, Function):
        name = callee.node.child_by_field_name("name") or callee.node
        related.append((Spot(callee.file.path, name), "inference: weights are loaded, nothing is differentiated"))
    related += _through_alias(context, function, node)
    return Finding(Spot(context.file.path, call.node), names, confidence, tuple(related))


def _at_type(context: RustContext, function: Function, node: Node) -> Finding:
    names = {"what": f"`{_short(node)}`", "where": f"`{function.name}`"}
    related = tuple(_through_alias(context, function, node))
    return Finding(Spot(context.file.path, node), names, Confidence.LIKELY, related)


def _through_alias(context: RustContext, function: Function, node: Node) -> Iterator[tuple[Spot, str]]:
    """Yield the alias through which a type names its Autodiff backend, for the finding's story."""
    if (alias := context.backends.alias_of(node, function)) is not None:
        yield Spot(alias.file.path, alias.node), "the alias that names the Autodiff backend"


def _at_bound(context: RustContext, function: Function) -> Iterator[Finding]:
    """Report a bound that forces Autodiff upon inference, where no caller in sight shows it already."""
    deeds = context.conduct.of(function)
    if not (deeds.loads and deeds.forwards):
        return
    text = function.text
    if "InnerBackend" in text or ".valid()" in text or ".inner()" in text:
        return
    for name, bounds in function.generics.items():
        if BOUNDS.intersection(bounds) and next(context.project.callers(function), None) is None:
            spot = Spot(context.file.path, function.bounds[name])
            yield Finding(
                spot, {"what": f"`{name}: AutodiffBackend`", "where": f"`{function.name}`"}, Confidence.LIKELY
            )
            return


def _devices(context: RustContext, function: Function) -> Iterator[Finding]:
    devices = Devices(function)
    told = False
    for call in function.calls:
        recording = [argument for argument in call.arguments if devices.records(argument)]
        if recording and not call.method:
            callee = context.project.callee(function, call)
            if isinstance(callee, Function) and context.conduct.infers(callee):
                told = True
                yield _at_call(context, function, call, recording[0], callee, Confidence.CERTAIN)
                continue
        if (fed := devices.fed_to_valid(call)) is not None:
            names = {
                "what": f"`{_short(fed)}`, made on an autodiff device,",
                "where": f"the `valid()` model in `{function.name}`",
            }
            yield Finding(Spot(context.file.path, call.node), names)
    if not told and context.conduct.infers(function):
        switch = next((call for call in function.calls if devices.switches_on(call)), None)
        if switch is not None:
            names = {"what": f"`{_short(switch.node)}`", "where": f"`{function.name}`"}
            yield Finding(Spot(context.file.path, switch.node), names, Confidence.LIKELY)


def _short(node: Node | None) -> str:
    text = " ".join(text_of(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
