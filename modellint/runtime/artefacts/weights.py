"""Files of weights, `.pt` and `.safetensors`: read with `weights_only=True`, refused where they want to run code."""

from __future__ import annotations

import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import torch

from modellint.runtime.artefacts.archive import opened
from modellint.runtime.artefacts.common import ArtefactProblem, Contents, one_line
from modellint.runtime.worker import artefacts
from modellint.runtime.worker.inputs import InputProblem
from modellint.runtime.worker.prints import flattened

LEVEL = "weights"
_WANTED = re.compile(r"GLOBAL:? ([\w.]+)")
_SHOWN = 3


def read(path: Path) -> Contents:
    """Read the tensors of a file and note those with NaN in them. Raises `ArtefactProblem`."""
    if not path.stat().st_size:
        raise ArtefactProblem(f"{path}: is empty")
    try:
        tensors = list(artefacts.safetensors(path) if path.suffix == ".safetensors" else _checkpoint(path))
    except InputProblem as problem:
        raise ArtefactProblem(str(problem)) from None
    broken = [name for name, tensor in tensors if tensor.is_floating_point() and bool(tensor.isnan().any())]
    notes = [f"{path}: holds {len(tensors)} tensors and no graph, so only the weights were looked at"]
    if broken:
        more = f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        notes.append(f"{path}: NaN in {len(broken)} of {len(tensors)} tensors: {', '.join(broken[:_SHOWN])}{more}")
    return Contents((), notes=tuple(notes))


def _checkpoint(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    if zipfile.is_zipfile(path):
        with opened(path, "file of torch.save"):
            pass
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if wanted := _WANTED.search(str(error)):
            raise ArtefactProblem(
                f"{path}: wants to call {wanted[1]} when it is loaded, so it was not loaded"
            ) from None
        raise ArtefactProblem(f"{path}: is no file of torch.save, or is damaged") from None
    except Exception as error:
        raise ArtefactProblem(f"{path}: is no file of torch.save, or is damaged: {one_line(error)}") from None
    return flattened(loaded)
