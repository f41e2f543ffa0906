"""The project's version of Burn has a published wrong-result defect on a shape that this code has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from modellint.burn.context import Finding, RustContext, Spot
from modellint.burn.crates import Dependency, Version, parse_version
from modellint.burn.items import Call, Function
from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence


@dataclass(frozen=True, slots=True)
class Advisory:
    """A published defect: `since` and `fixed` bound its versions, `first` and `then` are calls in this order.

    Without `first` and `then` no shape is known: loading weights is reported, as possible.
    """

    name: str
    about: str
    since: Version
    fixed: Version | None
    first: frozenset[str]
    then: frozenset[str]
    advice: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Advisory:
        """Read one entry of the rule's `advisories`."""
        since = parse_version(str(data["since"]))
        if since is None:
            raise ValueError(f"advisory {data['name']}: since: {data['since']!r} is no version")
        fixed = parse_version(str(data["fixed"])) if "fixed" in data else None
        first, then = frozenset(data.get("first", ())), frozenset(data.get("then", ()))
        return cls(data["name"], data["about"], since, fixed, first, then, data["advice"])

    def concerns(self, burn: Dependency) -> bool:
        """Tell whether a project with this Burn can be hit."""
        if burn.version is None or not burn.fused:
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
                names = {"version": version, "name": advisory.name, "about": advisory.about, "advice": advisory.advice}
                confidence = Confidence.LIKELY if advisory.first else Confidence.POSSIBLE
                yield Finding(Spot(context.file.path, call.node), names, confidence)


def _shape(advisory: Advisory, function: Function) -> Call | None:
    """Return a call of `first` that a call of `then` follows, on its result or further down."""
    calls = sorted(function.calls, key=lambda call: call.node.end_byte)
    for index, call in enumerate(calls):
        if call.method in advisory.first and any(_is(other, advisory.then) for other in calls[index + 1 :]):
            return call
    return None


def _is(call: Call, names: frozenset[str]) -> bool:
    if call.method in names:
        return True
    receiver = call.receiver
    if call.method != "forward" or receiver is None or receiver.text is None:
        return False
    return any(name in receiver.text.decode(errors="replace").lower() for name in names if name.endswith("norm"))


def _loads(function: Function) -> Call | None:
    return next((call for call in function.calls if call.method in ("load_record", "load_file")), None)
