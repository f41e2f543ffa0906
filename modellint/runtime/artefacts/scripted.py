"""TorchScript: the graphs of the methods, followed from `forward` with flags as constants. Nothing of them is run.

Each call is followed into the method or function that it names, so an operation has the whole stack of lines that leads
to it, and a branch on a flag is taken as the flag stands.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modellint.runtime.artefacts.archive import opened
from modellint.runtime.artefacts.common import STACK_LINE, ArtefactProblem, Contents, WrittenSites, one_line
from modellint.runtime.capture import adapter
from modellint.runtime.capture.walk import walk
from modellint.runtime.trace import INPUT, RANDOM, Op

LEVEL = "torchscript"
_TRACED = re.compile(r"^(?P<file>\S.*)\((?P<row>\d+)\): (?P<function>\S+)$", re.MULTILINE)
_MANGLED = re.compile(r"^__torch__\.|___torch_mangle_\d+\.")
_REACHES_OUT = re.compile(r"\b((?:torch|ops\.\w+)\.(?:save|load|from_file|_load\w*|get_file\w*))\(")
_DEPTH = 200
_FOLDED: Mapping[str, Callable[..., Any]] = {
    "aten::__not__": operator.not_, "aten::__is__": operator.is_, "aten::__isnot__": operator.is_not,
    "aten::eq": operator.eq, "aten::ne": operator.ne, "aten::lt": operator.lt, "aten::gt": operator.gt,
    "aten::le": operator.le, "aten::ge": operator.ge, "aten::__and__": operator.and_, "aten::__or__": operator.or_,
    "aten::Bool": bool, "prim::unchecked_cast": lambda value: value,
}  # fmt: skip
"""What is computed while reading: conditions on flags."""
_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True, slots=True)
class _Value:
    """What is known of a value: what it depends on; a constant (`known`); a module with its path; a function."""

    taint: int = 0
    known: bool = False
    constant: Any = None
    module: Any = None
    path: str = ""
    function: str = ""


def read(path: Path, sites: WrittenSites) -> Contents:
    """Return what a TorchScript file says. Raises `ArtefactProblem`."""
    with opened(path, "TorchScript file") as archive:
        for name in archive.namelist():
            if "/code/" in name and name.endswith(".py"):
                found = _REACHES_OUT.search(archive.read(name).decode(errors="replace"))
                if found:
                    raise ArtefactProblem(f"{path}: its code wants to call {found[1]}, so it was not loaded")
    try:
        module, unit = adapter.load_scripted(path)
    except Exception as error:
        raise ArtefactProblem(f"{path}: is no TorchScript file, or is damaged: {one_line(error)}") from None
    reader = _Reader(sites, unit)
    if module._c._has_method("forward"):
        reader.follow(module._c._get_method("forward").graph, [_Value(module=module._c)], (), 0)
    # A frozen module has lost its modes, and most of its modules.
    facts = walk(module, {}) if hasattr(module, "training") else {}
    kinds = {name: _MANGLED.sub("", part._c._type().str()) for name, part in module.named_modules()}
    modules = (
        replace(
            fact, type=_MANGLED.sub("", kinds[name]), calls=int(name in reader.called), site=reader.called.get(name)
        )
        for name, fact in facts.items()
    )
    return Contents(tuple(reader.ops), tuple(modules), training=bool(getattr(module, "training", False)))


class _Reader:
    def __init__(self, sites: WrittenSites, unit: Any) -> None:
        self.ops: list[Op] = []
        self.called: dict[str, int | None] = {"": None}
        self._sites = sites
        self._unit = unit
        self._path = ""

    def follow(self, graph: Any, arguments: Sequence[_Value], stack: tuple[Any, ...], depth: int) -> list[_Value]:
        """Take in a graph called with `arguments` (missing ones are inputs of the model); return its outputs."""
        values: dict[str, _Value] = {}
        for position, value in enumerate(graph.inputs()):
            given = arguments[position] if position < len(arguments) else _Value(INPUT)
            values[value.debugName()] = given
        self._block(graph, values, stack, depth)
        return [values.get(value.debugName(), _Value()) for value in graph.outputs()]

    def _block(self, block: Any, values: dict[str, _Value], stack: tuple[Any, ...], depth: int) -> None:
        for node in block.nodes():
            inputs = [values.get(value.debugName(), _Value()) for value in node.inputs()]
            outputs = self._node(node, inputs, values, stack, depth)
            for value, found in zip(node.outputs(), outputs, strict=False):
                values[value.debugName()] = found

    def _node(
        self, node: Any, inputs: list[_Value], values: dict[str, _Value], stack: tuple[Any, ...], depth: int
    ) -> list[_Value]:
        kind, taint = node.kind(), 0
        for value in inputs:
            taint |= value.taint
        if kind == "prim::Constant":
            return [_constant(node)]
        if kind == "prim::GetAttr":
            return [_attribute(inputs[0], node.s("name"))]
        if kind in ("prim::CallMethod", "prim::CallFunction"):
            return self._call(node, inputs, taint, stack, depth)
        if kind in ("prim::If", "prim::Loop"):
            return self._branches(node, inputs, values, stack, depth)
        if kind in _FOLDED and inputs and all(value.known for value in inputs):
            return [_Value(taint, True, _FOLDED[kind](*(value.constant for value in inputs)))]
        if not kind.startswith("prim::"):
            op = self._op(node, inputs, taint, stack)
            self.ops.append(op)
            taint |= RANDOM if op.live else 0
        return [_Value(taint)] * node.outputsSize()

    def _call(self, node: Any, inputs: list[_Value], taint: int, stack: tuple[Any, ...], depth: int) -> list[_Value]:
        target, arguments = inputs[0], inputs
        if (
            node.kind() == "prim::CallMethod"
            and target.module is not None
            and target.module._has_method(node.s("name"))
        ):
            graph = target.module._get_method(node.s("name")).graph
        else:
            function = self._unit.find_function(target.function) if target.function else None
            graph, arguments = (function.graph if function is not None else None), inputs[1:]
        if graph is None or depth > _DEPTH:
            return [_Value(taint)] * node.outputsSize()
        inner, before = (*stack, *_lines(node)), self._path
        if target.module is not None:
            self._path = target.path
            self.called.setdefault(target.path, self._sites.written(inner))
        try:
            return self.follow(graph, arguments, inner, depth + 1)
        finally:
            self._path = before

    def _branches(
        self, node: Any, inputs: list[_Value], values: dict[str, _Value], stack: tuple[Any, ...], depth: int
    ) -> list[_Value]:
        """Follow both sides of an `if`, or the one that a constant chooses; the body of a loop twice."""
        blocks = list(node.blocks())
        if node.kind() == "prim::If":
            if inputs[0].known:
                blocks = [blocks[0] if inputs[0].constant else blocks[1]]
            results = [self._inside(block, values, [], stack, depth) for block in blocks]
            return results[0] if len(results) == 1 else [_join(pair) for pair in zip(*results, strict=True)]
        carried = [replace(value, known=False) for value in inputs[2:]]
        result = self._inside(blocks[0], values, [_Value(), *carried], stack, depth)[1:]
        return [_join(pair) for pair in zip(carried, result, strict=True)]

    def _inside(
        self, block: Any, values: dict[str, _Value], given: list[_Value], stack: tuple[Any, ...], depth: int
    ) -> list[_Value]:
        inner = {**values, **{value.debugName(): found for value, found in zip(block.inputs(), given, strict=False)}}
        self._block(block, inner, stack, depth)
        return [inner.get(value.debugName(), _Value()) for value in block.outputs()]

    def _op(self, node: Any, inputs: list[_Value], taint: int, stack: tuple[Any, ...]) -> Op:
        schema = adapter.schema_of(node)
        names = [argument.name for argument in schema.arguments] if schema is not None else []
        args = {
            name: value.constant
            for name, value in zip(names, inputs, strict=False)
            if value.known and isinstance(value.constant, _PLAIN) and value.constant is not None
        }
        overload = (schema.overload_name if schema is not None else "") or "default"
        name = f"{node.kind().replace('::', '.')}.{overload}"
        site = self._sites.written((*stack, *_lines(node)))
        return Op(name, self._path, site, args, taint, draws=adapter.is_seeded_by_name(name), level=LEVEL)


def _constant(node: Any) -> _Value:
    kind = node.output().type()
    if kind.kind() == "FunctionType":
        return _Value(function=str(kind))
    value = node.output().toIValue()
    return _Value(0, True, value) if isinstance(value, _PLAIN) else _Value()


def _attribute(owner: _Value, name: str) -> _Value:
    if owner.module is None or not owner.module.hasattr(name):
        return _Value(owner.taint)
    found = owner.module.getattr(name)
    if hasattr(found, "_get_method"):
        return _Value(module=found, path=f"{owner.path}.{name}" if owner.path else name)
    return _Value(0, True, found) if isinstance(found, _PLAIN) else _Value()


def _join(values: Sequence[_Value]) -> _Value:
    first, second = values
    if first == second:
        return first
    return _Value(first.taint | second.taint, module=first.module, path=first.path)


def _lines(node: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the stack that a node was written from, outermost first: of a scripted node its own line alone."""
    text = node.sourceRange().split("Serialized   File")[0]
    traced = [(match["file"], match["row"], match["function"]) for match in _TRACED.finditer(text)]
    if traced:
        yield from reversed(traced)
        return
    match = STACK_LINE.search(text)
    if match:
        yield match["file"], match["row"], match["function"] or ""
