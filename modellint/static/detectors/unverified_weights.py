"""Weights from the network that nothing pins: neither a hash nor a revision."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from typing import Any

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.naming import is_test_module
from modellint.static.origins import CallView, Origin, is_parameter

_MOVES = frozenset({"main", "master", "latest", "HEAD"})
_WEIGHTS = re.compile(r"\.(pt|pth|ckpt|bin|safetensors|onnx|h5|tar)(\?|$)", re.IGNORECASE)
_LOCAL = re.compile(r"^[./~]|^[A-Za-z]:[\\/]|^(?!\w+://).*\.(pt|pth|ckpt|bin|safetensors)$")


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report downloads that are not pinned.

    The detector's option `calls` maps qualified names (`*` for any run of characters) to {source: position of what is
    fetched, name: its keyword, pins: the arguments any of which pins it, tagged: true where `owner/name:tag` does so
    too, any-file: true where it fetches other files, too, so that only the name of one with weights counts, file: the
    keyword (with position 1) of the name of a file, where that is an argument of its own}.
    """
    calls: Mapping[str, Mapping[str, Any]] = rule.rule.detector_options["calls"]
    if is_test_module(context.module):
        return
    for scope in context.scopes:
        for call in scope.calls:
            qualified = context.qualified(scope, call.func)
            if qualified is None:
                continue
            entry = next((e for name, e in calls.items() if fnmatch.fnmatchcase(qualified, name)), None)
            view = context.resolver.view(Origin(call, scope)) if entry is not None else None
            if entry is None or view is None or view.opaque or _pinned(context, view, entry):
                continue
            source = _text(context, view.argument(entry.get("name", ""), entry["source"]))
            if source is None or _LOCAL.search(source) or (entry.get("tagged") and ":" in source):
                continue
            fetched = _text(context, view.argument(entry["file"], 1)) if "file" in entry else source
            if ("file" in entry or entry.get("any-file")) and not (fetched and _WEIGHTS.search(fetched)):
                continue
            if entry.get("any-file") and not _HASHES.isdisjoint(scope.callees):
                continue
            pins = " or ".join(entry["pins"]) or ("a tag" if entry.get("tagged") else "a hash")
            yield Finding(context.site(call), {"source": source, "pins": pins})


_HASHES = frozenset({"sha256", "sha1", "md5", "hexdigest", "file_digest", "blake2b"})


def _text(context: FileContext, given: Origin | None) -> str | None:
    """Return the text that an argument is for certain; one that callers choose is none."""
    known = context.resolver.constant(given) if given is not None and not is_parameter(given) else None
    return known[0] if known is not None and isinstance(known[0], str) else None


def _pinned(context: FileContext, view: CallView, entry: Mapping[str, Any]) -> bool:
    if _text(context, view.argument("source")) == "local" or view.argument("local_files_only") is not None:
        return True
    given = next((value for name in entry["pins"] if (value := view.argument(name)) is not None), None)
    known = context.resolver.constant(given) if given is not None else None
    return given is not None and (known is None or (known[0] not in (None, False) and known[0] not in _MOVES))
