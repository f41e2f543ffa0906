"""The project's version of Burn has a published wrong-result defect on a shape that this code has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from modellint.burn.context import Finding, RustContext, Spot
from modellint.burn.crates import Dependency, Version, parse_version
from modellint.burn.items import Call, Function
from modellint.burn.syntax import field, names_bound, text_of
from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Advisory:
    """A published defect: `since` and `fixed` bound its versions, `first` and `then` are calls in this order.

    `feature`: what has to be on. `twice`: one of `then` has to work on the result of another. `argument`: one of `then`
    has to be given the result of one of `first`. `confidence`: lower where what code does not show decides, too.

    Without `first` and `then` no shape is known: loading weights is reported, as possible.
    """

    name: str
    about: str
    since: Version
    fixed: Version | None
    first: frozenset[str]
    then: frozenset[str]
    advice: str
    feature: str
    twice: bool
    argument: bool
    confidence: Confidence

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Advisory:
        """Read one entry of the rule's `advisories`."""
        since = parse_version(str(data["since"]))
        if since is None:
            raise ValueError(f"advisory {data['name']}: since: {data['since']!r} is no version")
        fixed = parse_version(str(data["fixed"])) if "fixed" in data else None
        first, then = frozenset(data.get("first", ())), frozenset(data.get("then", ()))
        confidence = Confidence(data.get("confidence", Confidence.LIKELY if first else Confidence.POSSIBLE))
        return cls(
            name=data["name"],
            about=data["about"],
            since=since,
            fixed=fixed,
            first=first,
            then=then,
            advice=data["advice"],
            feature=data.get("feature", "fusion"),
            twice=bool(data.get("twice")),
            argument=bool(data.get("argument")),
            confidence=confidence,
        )

    def concerns(self, burn: Dependency) -> bool:
        """Tell whether a project with this Burn can be hit."""
        if burn.version is None or not burn.has(self.feature):
            return False
        return self.since <= burn.version and (self.fixed is None or burn.version < self.fixed)


def detect(context: RustContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report the call that starts the shape of an advisory."""
    burn = context.burn
    if burn is None:
        return
    for advisory in map(Advisory.of, rule.rule.detector_options["advisories"]):
        if not advisory.concerns(burn):
            continue
        for function in context.file.functions:
            if function.is_test:
                continue
            call = _shape(advisory, function) if advisory.first else _loads(function)
            if call is not None:
                version = ".".join(map(str, burn.version or ()))
                names = {field: str(getattr(advisory, field)) for field in ("name", "about", "advice", "feature")}
                yield Finding(Spot(context.file.path, call.node), {"version": version, **names}, advisory.confidence)


def _shape(advisory: Advisory, function: Function) -> Call | None:
    """Return a call of `first` that a call of `then` follows, on its result or further down."""
    calls = sorted(function.calls, key=lambda call: call.node.end_byte)
    for index, call in enumerate(calls):
        if call.method in advisory.first and any(_meets(other, advisory, function) for other in calls[index + 1 :]):
            return call
    return None


def _meets(call: Call, advisory: Advisory, function: Function) -> bool:
    if not _is(call, advisory.then):
        return False
    if advisory.argument and not any(_made_by(value, advisory.first, function) for value in call.arguments):
        return False
    return not advisory.twice or _made_by(call.receiver, advisory.then, function)


def _made_by(value: Node | None, names: frozenset[str], function: Function) -> bool:
    """Tell whether a value is the result of one of these methods, in place or through a local name."""
    if value is not None and value.type == "identifier":
        before = [node for node in function.lets if node.end_byte <= value.start_byte]
        made = [node for node in before if text_of(value) in names_bound(field(node, "pattern"))]
        value = field(made[-1], "value") if made else None
    callee = field(value, "function") if value is not None and value.type == "call_expression" else None
    return callee is not None and text_of(field(callee, "field")) in names


def _is(call: Call, names: frozenset[str]) -> bool:
    if call.method in names:
        return True
    receiver = call.receiver
    if call.method != "forward" or receiver is None or receiver.text is None:
        return False
    return any(name in receiver.text.decode(errors="replace").lower() for name in names if name.endswith("norm"))


def _loads(function: Function) -> Call | None:
    return next((call for call in function.calls if call.method in ("load_record", "load_file")), None)
