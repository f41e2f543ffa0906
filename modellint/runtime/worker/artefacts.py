"""Fingerprints of files of weights, read without running them: .pt, .safetensors, .pt2, TorchScript and ONNX."""

from __future__ import annotations

import json
import math
import pickle
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from modellint.runtime.artefacts.archive import is_scripted, opened, unchecked
from modellint.runtime.artefacts.common import ArtefactProblem
from modellint.runtime.artefacts.exported import document
from modellint.runtime.lockfile.prints import Fingerprint, TensorPrint, whole
from modellint.runtime.worker.inputs import InputProblem
from modellint.runtime.worker.prints import flattened, tensor_print

_SAFETENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "C64": "complex64", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
# torch/_export/serde/schema.py, class ScalarType
_EXPORTED_TYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2",
}  # fmt: skip
_HEADER_LIMIT = 100_000_000
"""Bytes of the largest header that the format allows."""


def fingerprint(path: Path, text: str, environment: Mapping[str, str]) -> Fingerprint:
    """Return the fingerprint of a file that the user calls `text`.

    Raises `InputProblem` with one line where it cannot be read.
    """
    try:
        return _read(path, environment)
    except InputProblem as problem:
        raise InputProblem(str(problem).replace(str(path), text)) from None


def _read(path: Path, environment: Mapping[str, str]) -> Fingerprint:
    if path.suffix == ".safetensors":
        return Fingerprint("tensors", environment, _prints(path, safetensors(path)))
    if path.suffix == ".pt2":
        return _exported(path, environment)
    if path.suffix == ".onnx":
        return _onnx(path, environment)
    return _checkpoint(path, environment)


def _prints(path: Path, tensors: Iterator[tuple[str, torch.Tensor]]) -> dict[str, TensorPrint]:
    found: dict[str, TensorPrint] = {}
    for name, tensor in tensors:
        try:
            found[name] = tensor_print(tensor)
        except NotImplementedError as error:
            raise InputProblem(f"{path}: {name} {str(error).splitlines()[0]}") from None
    if not found:
        raise InputProblem(f"{path}: holds no tensors")
    return found


def safetensors(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors: eight bytes with the length of a JSON header, the header, the data."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        try:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > min(size, _HEADER_LIMIT):
                raise ValueError(length)
            header = json.loads(stream.read(length))
            entries = [(name, entry) for name, entry in header.items() if name != "__metadata__"]
            for name, entry in sorted(entries, key=lambda pair: pair[1]["data_offsets"]):
                yield name, _one(stream, entry, 8 + length)
        except (ValueError, KeyError, TypeError, AttributeError, struct.error, RuntimeError):
            raise InputProblem(f"{path}: is no safetensors file, or is damaged") from None


def _one(stream: Any, entry: Mapping[str, Any], start: int) -> torch.Tensor:
    first, last = entry["data_offsets"]
    stream.seek(start + first)
    data = stream.read(last - first)
    dtype: torch.dtype = getattr(torch, _SAFETENSORS[entry["dtype"]])
    if len(data) != math.prod(entry["shape"]) * dtype.itemsize:
        raise ValueError(entry)
    if not data:
        return torch.empty(entry["shape"], dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(entry["shape"])


def _checkpoint(path: Path, environment: Mapping[str, str]) -> Fingerprint:
    if is_scripted(path):
        return _scripted(path, environment)
    with path.open("rb") as stream:
        if not stream.read(2).startswith((b"PK", b"\x80")):  # a zip archive, or a bare pickle of old
            raise InputProblem(f"{path}: is no file of torch.save")
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        what = "is damaged, or holds more than tensors and plain values"
        raise InputProblem(f"{path}: {what} (it is read with weights_only=True, so that nothing in it runs)") from None
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputProblem(f"{path}: cannot be read: {reason[:200]}") from None
    return Fingerprint("tensors", environment, _prints(path, flattened(loaded)))


def _scripted(path: Path, environment: Mapping[str, str]) -> Fingerprint:
    try:
        module = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        raise InputProblem(f"{path}: cannot be read: {str(error).strip().splitlines()[0]}") from None
    code = [(name, part.original_name, getattr(part, "code", "")) for name, part in module.named_modules()]
    tensors = _prints(path, flattened(dict(module.state_dict())))
    mode = "train" if module.training else "eval"
    return Fingerprint("scripted", environment, tensors, mode, architecture=whole(code))


def _exported(path: Path, environment: Mapping[str, str]) -> Fingerprint:
    """Read an exported program from its own JSON and raw bytes: `torch.export.load` may unpickle what it finds."""
    try:
        program = document(path)
        graph = program["graph_module"]["graph"]
        nodes = [[node["target"], node["inputs"], node["outputs"]] for node in graph["nodes"]]
        with opened(path, "file of torch.export.save") as archive:
            held = list(_held(path, archive))
    except ArtefactProblem as problem:
        raise InputProblem(str(problem)) from None
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, RuntimeError, struct.error) as error:
        form = f"a form that modellint does not know ({type(error).__name__})"
        raise InputProblem(
            f"{path}: holds a program in {form}; save it again with a current torch.export.save"
        ) from None
    return Fingerprint("exported", environment, _prints(path, iter(held)) if held else {}, architecture=whole(nodes))


def _held(path: Path, archive: zipfile.ZipFile) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the weights and constants of an exported program, by the tables beside them."""
    names = archive.namelist()
    tables = [name for name in names if name.endswith(("_weights_config.json", "_constants_config.json"))]
    if not tables:
        raise InputProblem(f"{path}: was saved by an older torch, with pickled weights; save it again")
    for table in tables:
        prefix = "constants." if table.endswith("_constants_config.json") else ""
        for name, entry in json.loads(archive.read(table))["config"].items():
            meta = entry["tensor_meta"]
            if entry["use_pickle"] or meta is None:
                raise InputProblem(f"{path}: {name} is pickled, and nothing in the file is run")
            data = bytearray(unchecked(path, archive, f"{table.rpartition('/')[0]}/{entry['path_name']}"))
            dtype: torch.dtype = getattr(torch, _EXPORTED_TYPES[meta["dtype"]])
            sizes, strides = ([item["as_int"] for item in meta[key]] for key in ("sizes", "strides"))
            flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
            yield prefix + name, flat.as_strided(sizes, strides, meta["storage_offset"]["as_int"])


def _onnx(path: Path, environment: Mapping[str, str]) -> Fingerprint:
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise InputProblem(f"{path}: needs the package onnx to be read (pip install onnx)") from None
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputProblem(f"{path}: cannot be read: {reason[:200]}") from None
    tensors = {}
    for initializer in model.graph.initializer:
        array = numpy_helper.to_array(initializer, base_dir=str(path.parent))
        try:
            tensors[initializer.name] = tensor_print(torch.from_numpy(array.copy()))
        except TypeError:  # types that only onnx has are compared by their bytes
            tensors[initializer.name] = tensor_print(torch.frombuffer(bytearray(array.tobytes()), dtype=torch.uint8))
    nodes = [node.SerializeToString(deterministic=True).hex() for node in model.graph.node]
    return Fingerprint("onnx", environment, tensors, architecture=whole(nodes))
