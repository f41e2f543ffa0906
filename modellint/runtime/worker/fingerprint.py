"""The other job of the worker: say what a model is, for the lockfile."""

from __future__ import annotations

import json
import platform
import random
import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from modellint.runtime.capture import adapter
from modellint.runtime.capture.facts import qualified, settings
from modellint.runtime.capture.ladder import MODES, capture
from modellint.runtime.capture.sites import SiteTable
from modellint.runtime.capture.state import preserved
from modellint.runtime.lockfile.prints import Fingerprint, OutputPrint, TensorPrint, whole
from modellint.runtime.probes.compare import TOLERANCES
from modellint.runtime.probes.tree import leaves
from modellint.runtime.target import Target
from modellint.runtime.trace import to_json
from modellint.runtime.worker import artefacts
from modellint.runtime.worker.inputs import InputProblem, device_of
from modellint.runtime.worker.prepare import Prepared, prepare
from modellint.runtime.worker.prints import bytes_hash, flattened, output_print, tensor_print

_SEED = 20260101


def fingerprint(job: Mapping[str, Any], target: Target, sites: SiteTable, stage: list[str]) -> Fingerprint:
    """Return the fingerprint of the model, or of the file where the target has no name.

    Raises `LoadProblem`, `InputProblem`, and whatever the user's own code raises.
    """
    environment = {"python": platform.python_version(), "torch": str(torch.__version__)}
    if not target.name and target.file is not None:
        stage[0] = "reading the file"
        return artefacts.fingerprint(target.file, target.text, environment)
    _seed(_SEED + job["build"])
    ready = prepare(job, target, sites, stage, lambda: _seed(_SEED))
    model = ready.model
    device = device_of(model)
    environment["device"] = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    notes = list(ready.notes)
    tensors = _tensors(model, target)
    graph: str | None = None
    input_hash: str | None = None
    outputs: dict[str, OutputPrint] = {}
    if ready.subject is None:
        notes.append(f"{target.text}: no input was given, so outputs and graph are not locked")
    elif not job["weights_only"]:
        input_hash = bytes_hash(adapter.tensors((ready.subject.args, ready.subject.kwargs)))
        graph, outputs = _run(ready, target, notes)
    return Fingerprint(
        kind="model",
        environment=environment,
        tensors=tensors,
        mode=_mode(model),
        architecture=_architecture(model),
        graph=graph,
        input_hash=input_hash,
        outputs=outputs,
        notes=tuple(notes),
        home=to_json(ready.loaded.home),
    )


def _seed(seed: int) -> None:
    """Start the random sources anew: what a build leaves to chance must differ between builds, and only that."""
    torch.manual_seed(seed)
    random.seed(seed)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(seed % 2**32)


def _tensors(model: nn.Module, target: Target) -> dict[str, TensorPrint]:
    held: dict[str, Any] = dict(model.state_dict())
    held |= {name: buffer for name, buffer in model.named_buffers(remove_duplicate=False) if name not in held}
    try:
        return {name: tensor_print(tensor) for name, tensor in flattened(held)}
    except NotImplementedError as error:
        raise InputProblem(f"{target.text}: a tensor {str(error).splitlines()[0]}") from None


def _mode(model: nn.Module) -> str:
    modes = {module.training for module in model.modules()}
    return "mixed" if len(modes) > 1 else "train" if modes == {True} else "eval"


def _architecture(model: nn.Module) -> str:
    modules = [(path, qualified(type(module)), _settings(module)) for path, module in model.named_modules()]
    config = getattr(model, "config", None)
    plain = dict(config.to_dict()) if config is not None and hasattr(config, "to_dict") else {}
    for name in ("transformers_version", "_name_or_path"):
        plain.pop(name, None)
    return whole([modules, json.loads(json.dumps(plain, sort_keys=True, default=str))])


def _settings(module: nn.Module) -> str:
    """Return what a module says of itself: torch's own name every argument, others may print addresses."""
    if type(module).__module__.startswith("torch.nn."):
        return module.extra_repr()
    return json.dumps(settings(module), sort_keys=True)


def _run(ready: Prepared, target: Target, notes: list[str]) -> tuple[str | None, dict[str, OutputPrint]]:
    """Return the hash of the graph and, if a second forward gives the same, the outputs of one.

    Raises `InputProblem` where the forward fails with the input that the user gave.
    """
    subject = ready.subject
    assert subject is not None
    found = capture(
        subject, ready.model, subject.sites, ready.built, method=ready.method, given=ready.given, why_not=""
    )
    if found.failure is not None:
        raise InputProblem(f"{target.text}: {found.failure.message}")
    if found.mode is None:
        notes.append(f"{target.text}: {found.levels[0].reason}, so outputs and graph are not locked")
        return None, {}
    ops = [(op.base, op.module, dict(op.args)) for op in found.ops if op.within is None]
    runs: list[dict[str, OutputPrint]] = []
    for seed in (_SEED, _SEED + 1):
        with preserved(ready.model, copies=True):
            _seed(seed)
            with MODES[found.mode]():
                runs.append(_outputs(subject.fresh().call()))
    if runs[0] != runs[1]:
        notes.append(f"{target.text}: two forwards gave different outputs, so they are not locked")
        return whole(ops), {}
    return whole(ops), runs[0]


def _outputs(value: Any) -> dict[str, OutputPrint]:
    tensors = [(path or "output", leaf) for path, leaf in leaves(value) if isinstance(leaf, torch.Tensor)]
    return {path: output_print(tensor, TOLERANCES.get(tensor.dtype, 0.0)) for path, tensor in tensors}
