"""Weights from the network that nothing pins: neither a hash nor a revision."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator, Mapping
from typing import Any

from modellint.catalog import ActiveRule
from modellint.static.context import FileContext, Finding
from modellint.static.naming import is_test_file

_MOVES = frozenset({"main", "master", "latest", "HEAD"})
_WEIGHTS = re.compile(r"\.(pt|pth|ckpt|bin|safetensors|onnx|h5|tar)(\?|$)", re.IGNORECASE)
_LOCAL = re.compile(r"^[./~]|^[A-Za-z]:[\\/]|^(?!\w+://).*\.(pt|pth|ckpt|bin|safetensors)$")


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report downloads that are not pinned.

    The detector's option `calls` maps qualified names (`*` for any run of characters) to {source: position of what is
    fetched, pins: the arguments any of which pins it, tagged: true where `owner/name:tag` does so too, any-file: true
    where it fetches other files, too, so that only the name of one with weights counts}.
    """
    calls: Mapping[str, Mapping[str, Any]] = rule.rule.detector_options["calls"]
    if is_test_file(context.module.path):
        return
    for scope in context.scopes:
        for call in scope.calls:
            qualified = context.qualified(scope, call.func)
            if qualified is None:
                continue
            entry = next((e for name, e in calls.items() if fnmatch.fnmatchcase(qualified, name)), None)
            if entry is None or any(keyword.arg is None for keyword in call.keywords) or _pinned(call, entry):
                continue
            source = call.args[entry["source"]] if len(call.args) > entry["source"] else None
            if isinstance(source, ast.Constant) and isinstance(source.value, str) and not _LOCAL.search(source.value):
                if entry.get("any-file") and not _WEIGHTS.search(source.value):
                    continue
                if not (entry.get("tagged") and ":" in source.value):
                    pins = " or ".join(entry["pins"]) or "a tag"
                    yield Finding(context.site(call), {"source": source.value, "pins": pins})


def _pinned(call: ast.Call, entry: Mapping[str, Any]) -> bool:
    for keyword in call.keywords:
        if keyword.arg == "source" and isinstance(keyword.value, ast.Constant) and keyword.value.value == "local":
            return True
        if keyword.arg == "local_files_only":
            return True
        if keyword.arg in entry["pins"]:
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else ...
            return value not in (None, False) and value not in _MOVES
    return False
