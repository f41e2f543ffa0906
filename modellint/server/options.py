"""What the client sets: the options of the command line under the names that editors use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modellint.catalog.document import suggestion
from modellint.diagnostic import Confidence
from modellint.settings import Overrides

_KEYS = ("select", "extendSelect", "ignore", "minConfidence", "configuration", "deep", "isolated", "trace")


class OptionsError(ValueError):
    """The client's settings cannot be used; the message names every key that is wrong."""


def read_options(data: Any, base: Overrides, root: Path | None) -> Overrides:
    """Return `base`, the server's own options, with the client's settings `data` on top.

    A relative `configuration` counts from `root`. Raises `OptionsError`.
    """
    if data is None:
        return base
    if not isinstance(data, Mapping):
        raise OptionsError("the settings of modellint are no object")
    problems = list(_problems(data))
    if problems:
        raise OptionsError("; ".join(problems))
    given = {key: value for key, value in data.items() if value not in (None, "", [])}
    config = Path(given["configuration"]).expanduser() if "configuration" in given else base.config
    confidence = given.get("minConfidence")
    isolated = bool(given.get("isolated", base.isolated))
    return Overrides(
        select=tuple(given["select"]) if "select" in given else base.select,
        extend_select=(*base.extend_select, *given.get("extendSelect", ())),
        ignore=(*base.ignore, *given.get("ignore", ())),
        min_confidence=Confidence(confidence) if confidence else base.min_confidence,
        deep=bool(given.get("deep", base.deep)),
        isolated=isolated,
        config=None if isolated or config is None else (root or Path.cwd()) / config,
    )


def _problems(data: Mapping[str, Any]) -> Iterator[str]:
    for key, value in data.items():
        if value is None:
            continue
        if key not in _KEYS:
            yield f"modellint.{key}: no such setting{suggestion(str(key), _KEYS)}"
        elif key in ("select", "extendSelect", "ignore"):
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                yield f"modellint.{key}: expected a list of rules"
        elif key in ("deep", "isolated"):
            if not isinstance(value, bool):
                yield f"modellint.{key}: expected true or false"
        elif key == "minConfidence":
            if value not in ("", *(confidence.value for confidence in Confidence)):
                yield f"modellint.{key}: expected certain, likely or possible"
        elif key == "configuration" and not isinstance(value, str):
            yield f"modellint.{key}: expected the path of a file"
