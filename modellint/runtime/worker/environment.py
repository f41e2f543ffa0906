"""What besides the model decides on an answer: versions, device, precision, determinism, seeds. Read, never set."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from typing import Any

import torch

from modellint.runtime.worker.inputs import SEED

_LIBRARIES = ("numpy", "torchvision", "torchaudio", "timm", "transformers", "onnx", "onnxruntime", "triton")


def environment(device: torch.device) -> dict[str, Any]:
    """Return the facts by name, JSON values only; `device` is the model's. Libraries count if the model imported them.

    Precision: `torch.backends`, "Numerical accuracy" in torch's notes; determinism: its notes on reproducibility.
    """
    cuda = torch.cuda.is_available()
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": str(torch.__version__),
        **{name: str(sys.modules[name].__version__) for name in _LIBRARIES if _has_version(name)},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        "threads": torch.get_num_threads(),
        "CUDA": torch.version.cuda if cuda else "not available",
    }
    if cuda:
        facts["cuDNN"] = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return facts | {
        "default dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "float32 matmul precision": _read(torch.get_float32_matmul_precision),
        "TF32 in matmul": _read(lambda: torch.backends.cuda.matmul.allow_tf32),
        "TF32 in cuDNN": _read(lambda: torch.backends.cudnn.allow_tf32),
        "deterministic algorithms": _deterministic(),
        "cuDNN deterministic": torch.backends.cudnn.deterministic,
        "cuDNN benchmark": torch.backends.cudnn.benchmark,
        "CUBLAS_WORKSPACE_CONFIG": os.environ.get("CUBLAS_WORKSPACE_CONFIG", "not set"),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "not set"),
        "seed of the generated inputs": SEED,
        "seed of torch's generator": torch.initial_seed(),
    }


def _has_version(name: str) -> bool:
    return hasattr(sys.modules.get(name), "__version__")


def _read(setting: Callable[[], Any]) -> Any:
    """Return a setting; torch refuses to tell some by their old name once the new one has been set."""
    try:
        return setting()
    except RuntimeError:
        return "set per operator (fp32_precision)"


def _deterministic() -> str:
    if not torch.are_deterministic_algorithms_enabled():
        return "not demanded"
    return "warn only" if torch.is_deterministic_algorithms_warn_only_enabled() else "demanded"
