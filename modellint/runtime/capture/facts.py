"""What a module of torch does with its mode, read from its settings: the knowledge behind walking and fx.

`mode_op` names the operation that a module's forward performs, with the arguments that decide whether it is
live; the recorder sees the same operation when the module really runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.utils.spectral_norm import SpectralNorm

_SETTINGS = (
    "p", "drop_prob", "dropout", "momentum", "eps", "num_features", "affine", "track_running_stats", "num_layers",
    "lower", "upper",
)  # fmt: skip
_DROPOUTS: dict[type[nn.Module], str] = {
    nn.Dropout: "dropout",
    nn.Dropout1d: "dropout1d",
    nn.Dropout2d: "dropout2d",
    nn.Dropout3d: "dropout3d",
    nn.AlphaDropout: "alpha_dropout",
    nn.FeatureAlphaDropout: "feature_alpha_dropout",
}
_RNN = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}


def settings(module: nn.Module) -> dict[str, Any]:
    """Return the constructor facts of a module that are worth showing with a finding."""
    values = vars(module)
    return {name: values[name] for name in _SETTINGS if isinstance(values.get(name), (bool, int, float, str))}


def qualified(value: type) -> str:
    """Return `package.module.Class`."""
    return f"{value.__module__}.{value.__qualname__}"


def mode_op(module: nn.Module) -> tuple[str, dict[str, Any]] | None:
    """Return (operation, deciding arguments) of a torch.nn module that reads its mode, else None."""
    kind = next((op for cls, op in _DROPOUTS.items() if isinstance(module, cls)), None)
    if kind is not None:
        return kind, {"p": getattr(module, "p", 0.0), "train": module.training}
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        statistics = module.running_mean is None and module.running_var is None
        found = {"momentum": module.momentum, "eps": module.eps, "training": module.training or statistics}
        return "batch_norm", found
    if isinstance(module, nn.MultiheadAttention):
        return "multi_head_attention_forward", {"dropout_p": module.dropout, "training": module.training}
    if isinstance(module, nn.RNNBase):
        name = _RNN.get(module.mode, module.mode.lower())
        return name, {"dropout": module.dropout, "train": module.training, "num_layers": module.num_layers}
    if isinstance(module, nn.RReLU):
        return "rrelu", {"lower": module.lower, "upper": module.upper, "training": module.training}
    if isinstance(module, (nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)):
        return "fractional_max_pool", {}
    return None


def reads_mode(module: nn.Module) -> bool:
    """Tell whether the module's own class asks `self.training`: torch's by table, others by their bytecode."""
    cls = type(module)
    if isinstance(module, torch.jit.ScriptModule):
        return "self.training" in getattr(module, "code", "") and bool(getattr(module, "p", 1.0))
    if _iterates_powers(module):
        return True
    if cls.__module__.startswith("torch.nn."):
        return mode_op(module) is not None or _tracks_instances(module)
    return any(
        "training" in code.co_names
        for base in cls.__mro__
        if not base.__module__.startswith("torch.")
        for function in vars(base).values()
        if (code := getattr(function, "__code__", None)) is not None
    )


def _tracks_instances(module: nn.Module) -> bool:
    """Tell whether a module is an instance norm whose evaluation mode uses running statistics."""
    return isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats


def _iterates_powers(module: nn.Module) -> bool:
    """Tell whether a module is, or carries as a hook, a spectral norm: in training each forward updates its buffers."""
    hooks = module._forward_pre_hooks.values()
    return type(module).__name__ == "_SpectralNorm" or any(isinstance(hook, SpectralNorm) for hook in hooks)


def matters(module: nn.Module) -> bool:
    """Tell whether a module's mode changes what it computes: it is mode-dependent and not inert."""
    found = mode_op(module)
    if found is None:
        return reads_mode(module)
    name, args = found
    if name == "batch_norm":
        return True
    if name in _RNN.values():
        return bool(args["dropout"]) and args["num_layers"] > 1
    strength = args.get("p", args.get("dropout_p", 1.0))
    return bool(strength)
