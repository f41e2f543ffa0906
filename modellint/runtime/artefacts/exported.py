"""`.pt2`: the graph of `torch.export.save`, read from its JSON as it was written, not decomposed. No torch.

`torch.export.load` would unpickle tensors and evaluate symbolic expressions; nothing of that is needed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from modellint.runtime.artefacts.archive import opened
from modellint.runtime.artefacts.common import STACK_LINE, ArtefactProblem, Contents, WrittenSites
from modellint.runtime.trace import INPUT, RANDOM, ModuleFact, Op

LEVEL = "pt2"
_SCALARS = ("as_bool", "as_int", "as_float", "as_string")
_DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16",
}  # fmt: skip
"""torch/_export/serde/schema.py, ScalarType."""
_DRAWS = re.compile(
    r"(?:rand(?:int|n|perm)?(?:_like)?|random|bernoulli|multinomial|normal|uniform|poisson|binomial|exponential|geometric"
    r"|cauchy|log_normal|rrelu(?:_with_noise)?|\w*dropout|\w*scaled_dot_product\w*|lstm|gru|rnn_tanh|rnn_relu"
    r"|_sample_dirichlet|_standard_gamma|_philox\w*)(?:_functional)?"
)
"""Operators that torch tags `nondeterministic_seeded`, by name: a test compares them with the installed torch."""


def read(path: Path, sites: WrittenSites) -> Contents:
    """Return what an exported program says. Raises `ArtefactProblem`."""
    program = document(path)
    try:
        graph = program["graph_module"]["graph"]
        specs = program["graph_module"]["signature"]["input_specs"]
        inputs = [name for spec in specs if "user_input" in spec for name in _names(spec["user_input"]["arg"])]
        reader = _Reader(sites)
        reader.follow(graph, dict.fromkeys(inputs, INPUT))
        shapes = (_shape(graph["tensor_values"].get(name)) for name in inputs)
        batch = next((shape[0] for shape in shapes if shape), None)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError) as error:
        version = program.get("schema_version") if isinstance(program, dict) else None
        raise ArtefactProblem(
            f"{path}: holds a graph in a form that modellint does not know (schema {version}; {type(error).__name__})"
        ) from None
    return Contents(tuple(reader.ops), tuple(reader.modules.values()), batch=batch)


def document(path: Path) -> Any:
    """Return the JSON of the first program in the archive. Raises `ArtefactProblem`."""
    with opened(path, "file of torch.export.save") as archive:
        names = archive.namelist()
        found = [
            name for name in names if re.search(r"(^|/)models/[^/]+\.json$|serialized_exported_program\.json$", name)
        ]
        if not found:
            what = (
                "compiled code (AOTInductor), no graph" if any("aotinductor" in name for name in names) else "no graph"
            )
            raise ArtefactProblem(f"{path}: holds {what}; save the model with torch.export.save")
        try:
            return json.loads(archive.read(found[0]))
        except (ValueError, RecursionError):
            raise ArtefactProblem(f"{path}: {found[0]} is no JSON, or is damaged") from None


class _Reader:
    def __init__(self, sites: WrittenSites) -> None:
        self.ops: list[Op] = []
        self.modules: dict[str, ModuleFact] = {}
        self._sites = sites

    def follow(self, graph: Mapping[str, Any], taints: dict[str, int]) -> int:
        """Take in the nodes of a graph; `taints` is what its inputs depend on. Return what its outputs depend on."""
        values = graph["tensor_values"]
        for node in graph["nodes"]:
            arguments = [entry["arg"] for entry in node["inputs"]]
            taint = _joined(taints, (name for argument in arguments for name in _names(argument)))
            for inner in (argument["as_graph"]["graph"] for argument in arguments if "as_graph" in argument):
                names = [name for value in inner["inputs"] for name in _names(value)]
                taint |= self.follow(inner, dict.fromkeys(names, taint))
            if re.fullmatch(r"torch\.ops\.\w+\.\w+\.\w+", node["target"]):
                op = self._op(node, taint, values)
                self.ops.append(op)
                taint |= RANDOM if op.live else 0
            for name in (name for output in node["outputs"] for name in _names(output)):
                taints[name] = taint
        return _joined(taints, (name for output in graph["outputs"] for name in _names(output)))

    def _op(self, node: Mapping[str, Any], taint: int, values: Mapping[str, Any]) -> Op:
        metadata = node.get("metadata", {})
        site = self._sites.written([_entry(match) for match in STACK_LINE.finditer(metadata.get("stack_trace") or "")])
        module = self._module(metadata.get("nn_module_stack") or "", site)
        first = next((name for entry in node["inputs"] for name in _names(entry["arg"])), None)
        tensor = values.get(first) if first is not None else None
        target = node["target"].removeprefix("torch.ops.")
        name = target.split(".")[1]
        return Op(
            name=target,
            module=module,
            site=site,
            args={
                entry["name"]: value
                for entry in node["inputs"]
                for kind, value in entry["arg"].items()
                if kind in _SCALARS
            },
            taint=taint,
            draws=bool(_DRAWS.fullmatch(name.strip("_")) or _DRAWS.fullmatch(name)),
            shape=_shape(tensor),
            dtype=_DTYPES.get(tensor["dtype"]) if tensor else None,
            device=tensor["device"]["type"] if tensor else None,
            level=LEVEL,
        )

    def _module(self, stack: str, site: int | None) -> str:
        """Return the path of the innermost module of `key,path,class;key,path,class`, and take note of all of them."""
        path = ""
        for entry in filter(None, stack.split(";")):
            _, path, kind = [*entry.split(","), "", ""][:3]
            fact = self.modules.get(path)
            self.modules[path] = fact or ModuleFact(path, kind, training=False, calls=1, site=site)
        return path


def _entry(match: re.Match[str]) -> tuple[str, str, str]:
    return match["file"], match["row"], match["function"] or ""


def _joined(taints: Mapping[str, int], names: Iterator[str]) -> int:
    taint = 0
    for name in names:
        taint |= taints.get(name, 0)
    return taint


def _names(argument: Any) -> list[str]:
    """Return the names of the values that an argument refers to."""
    if not isinstance(argument, dict):
        return []
    names: list[str] = []
    for kind, value in argument.items():
        items: Sequence[Any] = value if isinstance(value, list) else [value]
        if kind in ("as_tensor", "as_tensors", "as_optional_tensor", "as_optional_tensors", "as_nested_tensors"):
            for item in items:
                for inner in item if isinstance(item, list) else [item]:
                    names += [inner["name"]] if isinstance(inner, dict) and "name" in inner else _names(inner)
        elif kind in ("as_sym_int", "as_sym_bool", "as_sym_float", "as_name"):
            names += [item["as_name"] if isinstance(item, dict) else item for item in items if item and _is_name(item)]
    return names


def _is_name(item: Any) -> bool:
    return isinstance(item, str) or "as_name" in item


def _shape(tensor: Mapping[str, Any] | None) -> tuple[int, ...]:
    """Return the sizes of a tensor; none where one of them is symbolic."""
    sizes = [size.get("as_int") for size in tensor["sizes"]] if tensor else []
    return tuple(sizes) if None not in sizes else ()
