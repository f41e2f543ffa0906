"""modellint.lock as a file: YAML, one line a tensor, every error with file and key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from modellint.catalog.document import Document, DocumentError, load_yaml, validate
from modellint.runtime.lockfile.distance import unpacked
from modellint.runtime.lockfile.prints import Fingerprint, OutputPrint, TensorPrint

LOCKFILE = "modellint.lock"
VERSION = 1
_SCHEMA = Path(__file__).with_name("schema.json")
_HEAD = "# What these models are, by `modellint lock`. `modellint verify` checks it.\n"


@dataclass(frozen=True, slots=True)
class Locked:
    """One entry: how the model is made and called, what it was, and on which row of the file it stands."""

    target: str
    fingerprint: Fingerprint
    inputs: tuple[str, ...] = ()
    mode: str = "as-is"
    method: str | None = None
    row: int = 1


def read_lockfile(path: Path) -> dict[str, Locked]:
    """Return the entries by name. Raises `DocumentError` with one line that names file, row and key."""
    document = load_yaml(path)
    version = document.data.get("version") if isinstance(document.data, dict) else None
    if isinstance(version, int) and version != VERSION:
        _wrong(document, ("version",), f"{version} is not known to this modellint, which writes {VERSION}")
    if problems := validate(document, _SCHEMA):
        raise DocumentError(sorted(problems, key=lambda problem: problem.row)[:1])
    return {name: _entry(document, name) for name in document.data["models"]}


def _entry(document: Document, name: str) -> Locked:
    data = document.data["models"][name]
    for group in ("tensors", "outputs"):
        for inner, entry in data.get(group, {}).items():
            for key in ("sketch", "sample"):
                try:
                    unpacked(entry.get(key) or "")
                except ValueError:
                    _wrong(document, ("models", name, group, inner, key), "is damaged: no list of numbers in base64")
    fingerprint = Fingerprint(
        kind=data["kind"],
        environment=data["made-with"],
        tensors={inner: _tensor(entry) for inner, entry in data["tensors"].items()},
        mode=data.get("mode"),
        architecture=data.get("architecture"),
        graph=data.get("graph"),
        input_hash=data.get("input"),
        outputs={
            inner: OutputPrint(_tensor(entry), entry.get("scale"), entry["tolerance"], entry["sample"] or "")
            for inner, entry in data.get("outputs", {}).items()
        },
        random=tuple(data.get("random", ())),
    )
    if fingerprint.weights != data["weights"]:
        _wrong(document, ("models", name, "weights"), "does not fit the tensors below: the file was edited or damaged")
    return Locked(
        data["target"],
        fingerprint,
        tuple(data.get("inputs", ())),
        data.get("put-into", "as-is"),
        data.get("method"),
        document.row(("models", name)),
    )


def _tensor(entry: Mapping[str, Any]) -> TensorPrint:
    return TensorPrint(entry["dtype"], tuple(entry["shape"]), entry["hash"], entry.get("norm"), entry.get("sketch"))


def _wrong(document: Document, key: tuple[str, ...], message: str) -> None:
    raise DocumentError([document.problem(key, message)])


def written(entries: Mapping[str, Locked]) -> str:
    """Return the text of a lockfile: the same entries give the same bytes."""
    return _HEAD + "".join(f"{line}\n" for line in _lines(entries))


def _lines(entries: Mapping[str, Locked]) -> Iterator[str]:
    yield f"version: {VERSION}"
    yield "models:" if entries else "models: {}"
    for name, entry in sorted(entries.items()):
        found = entry.fingerprint
        yield f"  {_flow(name)}:"
        plain = {
            "target": entry.target,
            "kind": found.kind,
            "made-with": dict(found.environment),
            "inputs": list(entry.inputs),
            "put-into": entry.mode,
            "method": entry.method,
            "mode": found.mode,
            "weights": found.weights,
            "architecture": found.architecture,
            "graph": found.graph,
            "input": found.input_hash,
            "random": list(found.random),
        }
        for key, value in plain.items():
            if value or key == "kind":
                yield f"    {key}: {_flow(value)}"
        yield "    tensors:" if found.tensors else "    tensors: {}"
        for inner, tensor in sorted(found.tensors.items()):
            yield f"      {_flow(inner)}: {_flow(_known(asdict(tensor)))}"
        if found.outputs:
            yield "    outputs:"
        for inner, output in found.outputs.items():
            values = {"scale": output.scale, "tolerance": output.tolerance, "sample": output.sample}
            yield f"      {_flow(inner)}: {_flow(_known({**asdict(output.tensor), **values}))}"


def _known(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}


def _flow(value: Any) -> str:
    """Return a value as JSON, which is YAML; numbers with a point, as YAML wants them."""
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
