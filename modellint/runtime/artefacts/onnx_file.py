"""`.onnx`: the graph as it was written by either exporter of torch, read with the package onnx. No torch.

External data is never opened. The dynamo exporter writes file, line and module of every node; the older one the
module alone, in the node's name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modellint.runtime.artefacts.common import STACK_LINE, ArtefactProblem, Contents, WrittenSites, one_line
from modellint.runtime.trace import INPUT, RANDOM, ModuleFact, Op

LEVEL = "onnx"
_DRAWS = {
    "RandomNormal": "randn", "RandomNormalLike": "randn_like", "RandomUniform": "rand",
    "RandomUniformLike": "rand_like", "Bernoulli": "bernoulli", "Multinomial": "multinomial",
}  # fmt: skip
_PREFIX = "pkg.torch.onnx."
_TRAINED = re.compile(r"torch\.ops\.aten\.\w*batch_norm\w*\.\w+\]\(args = \((?:[^,]+, ){5}True,")
_EXPANDED = re.compile(r"torch\.ops\.aten\.\w*batch_norm\w*\.no_stats\]")
"""A batch norm without running statistics, which the exporter writes as means of the data."""
_DEPTH = 50
_SMALL = 64
"""Bytes of the largest constant that is looked at: flags and probabilities, no weights."""


def read(path: Path, sites: WrittenSites) -> Contents:
    """Return what an ONNX model says. Raises `ArtefactProblem`."""
    try:
        import onnx
    except ImportError:
        raise ArtefactProblem(f"{path}: needs the package onnx to be read (pip install 'modellint[onnx]')") from None
    if not path.stat().st_size:
        raise ArtefactProblem(f"{path}: is empty")
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:
        raise ArtefactProblem(f"{path}: is no ONNX model, or is damaged: {one_line(error)}") from None
    if not model.graph.node and not model.graph.output:
        raise ArtefactProblem(f"{path}: is no ONNX model, or is damaged: it holds no graph")
    reader = _Reader(model, sites)
    given = {value.name for value in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in given]
    reader.follow(model.graph, {value.name: INPUT for value in inputs}, 0)
    sizes = [value.type.tensor_type.shape.dim for value in inputs]
    batch = next((dims[0].dim_value or None for dims in sizes if dims), None)
    return Contents(
        tuple(reader.ops), tuple(reader.modules.values()), batch=batch, notes=tuple(reader.notes(str(path)))
    )


class _Reader:
    def __init__(self, model: Any, sites: WrittenSites) -> None:
        self.ops: list[Op] = []
        self.modules: dict[str, ModuleFact] = {}
        self._sites = sites
        self._switched: list[str] = []
        self._constants: dict[str, Any] = {}
        self._functions = {(function.domain, function.name): function for function in model.functions}
        versions = {entry.domain: entry.version for entry in model.opset_import}
        self._version = versions.get("", versions.get("ai.onnx", 0))

    def notes(self, file: str) -> Iterator[str]:
        """Yield what a user has to know beside the findings."""
        if self._switched:
            listed = ", ".join(dict.fromkeys(self._switched))
            yield (
                f"{file}: the exporter turned batch norms in training mode into ones with running statistics "
                f"({listed}): the file does not compute what the model computed"
            )

    def follow(self, graph: Any, taints: dict[str, int], depth: int) -> None:
        """Take in the nodes of a graph or function; `taints` says what its values depend on and is added to."""
        if depth > _DEPTH:
            return
        for value in getattr(graph, "initializer", ()):
            self._note_constant(value.name, value)
        for node in graph.node:
            taint = 0
            for name in node.input:
                taint |= taints.get(name, 0)
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value":
                    self._note_constant(node.output[0], attribute.t)
                elif attribute.HasField("g"):
                    for inner in attribute.g.input:
                        taints[inner.name] = taint
                    self.follow(attribute.g, taints, depth + 1)
            body = self._functions.get((node.domain, node.op_type))
            if body is not None:
                inside = {inner: taints.get(outer, 0) for inner, outer in zip(body.input, node.input, strict=False)}
                for inner, outer in zip(body.input, node.input, strict=False):
                    if outer in self._constants:
                        self._constants[inner] = self._constants[outer]
                self.follow(body, inside, depth + 1)
            else:
                self.ops.append(self._op(node, taint))
                taint |= RANDOM if self.ops[-1].live else 0
            for name in node.output:
                taints[name] = taint

    def _note_constant(self, name: str, tensor: Any) -> None:
        from onnx import numpy_helper

        if tensor.ByteSize() <= _SMALL and not tensor.external_data:
            self._constants[name] = numpy_helper.to_array(tensor).reshape(-1).tolist()

    def _scalar(self, node: Any, position: int, default: Any) -> Any:
        """Return the value of an input that is a constant; None where it is computed."""
        if len(node.input) <= position or not node.input[position]:
            return default
        values = self._constants.get(node.input[position])
        return values[0] if values else None

    def _op(self, node: Any, taint: int) -> Op:
        metadata = {entry.key.removeprefix(_PREFIX): entry.value for entry in node.metadata_props}
        module = self._module(node, metadata)
        stack = [
            (match["file"], match["row"], match["function"] or "")
            for match in STACK_LINE.finditer(metadata.get("stack_trace", ""))
        ]
        name, args, draws = f"onnx.{node.op_type}", {}, False
        if node.op_type == "Dropout":
            name, draws = "onnx.dropout", True
            # Computed from an input of the model: whoever runs the file decides.
            active = self._scalar(node, 2, False) if self._version >= 12 else False
            args = {"p": self._scalar(node, 1, 0.5), "train": bool(active)}
        elif node.op_type == "BatchNormalization":
            name, args = "onnx.batch_norm", {"training": self._is_training(node)}
        elif node.op_type == "ReduceMean" and _EXPANDED.search(metadata.get("fx_node", "")):
            name, args = "onnx.batch_norm", {"training": True}
        elif node.op_type in _DRAWS:
            name, draws = f"onnx.{_DRAWS[node.op_type]}", True
        if _TRAINED.search(metadata.get("fx_node", "")) and not args.get("training"):
            self._switched.append(module or "the model itself")
        return Op(name, module, self._sites.written(stack), args, taint, draws=draws, level=LEVEL)

    def _is_training(self, node: Any) -> bool:
        if self._version >= 14:
            return any(attribute.name == "training_mode" and attribute.i for attribute in node.attribute)
        return len([name for name in node.output if name]) > 1

    def _module(self, node: Any, metadata: Mapping[str, str]) -> str:
        """Return the path of a node's module, and take note of it."""
        try:
            path = str(ast.literal_eval(metadata["name_scopes"])[-2])
            kind = str(ast.literal_eval(metadata["class_hierarchy"])[-2])
        except (KeyError, ValueError, SyntaxError, IndexError, TypeError):
            path, kind = _scope(node.name), ""
        self.modules.setdefault(path, ModuleFact(path, kind, training=False, calls=1))
        return path


def _scope(name: str) -> str:
    """Return `blocks.0.drop` for `/blocks.0/drop/Dropout` and `seq.1` for `/seq/seq.1/Dropout`."""
    parts: list[str] = []
    for part in name.split("/")[1:-1] if name.startswith("/") else ():
        if parts and part.startswith(parts[-1] + "."):
            parts.pop()
        parts.append(part)
    return ".".join(parts)
