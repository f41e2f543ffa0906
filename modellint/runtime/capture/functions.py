"""Public functions that are recorded whole, and the plain arguments of calls by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from modellint.runtime.trace import RECURRENT


def _public(namespace: Any, *names: str) -> dict[Callable[..., Any], str]:
    return {getattr(namespace, name): name for name in names if hasattr(namespace, name)}


FUNCTION_NAMES = {
    **_public(torch.nn.functional, "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"),
    **_public(F, "feature_alpha_dropout", "batch_norm", "instance_norm", "multi_head_attention_forward", "rrelu"),
    **_public(F, "gumbel_softmax", "scaled_dot_product_attention"),
    **_public(torch, "dropout", "dropout_", "feature_dropout", "feature_dropout_", "alpha_dropout", "rrelu"),
    **_public(torch, "alpha_dropout_", "native_dropout", "batch_norm", "instance_norm", "native_batch_norm"),
    **_public(torch, "lstm", "gru", "rnn_tanh", "rnn_relu"),
}
"""Functions recorded whole: an error inside one, or the kernels of another gradient mode, cannot hide them."""

_POSITIONS = {
    "dropout": ("input", "p", "train"),
    "dropout_": ("input", "p", "train"),
    "feature_dropout": ("input", "p", "train"),
    "feature_dropout_": ("input", "p", "train"),
    "alpha_dropout_": ("input", "p", "train"),
    "native_dropout": ("input", "p", "train"),
    "lstm": ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional"),
    "gru": ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional"),
    "rnn_tanh": ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional"),
    "rnn_relu": ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional"),
    "rrelu": ("input", "lower", "upper", "training", "inplace"),
    "scaled_dot_product_attention": ("query", "key", "value", "attn_mask", "dropout_p", "is_causal"),
    "native_batch_norm": (
        "input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps",
    ),
    "torch.batch_norm": (
        "input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps",
    ),
    "torch.instance_norm": (
        "input", "weight", "bias", "running_mean", "running_var", "use_input_stats", "momentum", "eps",
    ),
}  # fmt: skip


def scalars(names: tuple[str, ...], args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that are plain values, by name."""
    found = {**dict(zip(names, args, strict=False)), **kwargs}
    plain = {name: value for name, value in found.items() if isinstance(value, (bool, int, float, str))}
    if isinstance(found.get("weights"), torch.Tensor):
        plain["weights"] = "tensor"
    return plain


def function_scalars(func: Any, name: str, full: str, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the plain arguments of a call of a public function by name, its defaults included."""
    code = getattr(func, "__wrapped__", func)
    code = getattr(code, "__code__", None)
    if code is None:
        names = _POSITIONS.get(full, _POSITIONS.get(name, ()))
        if name in RECURRENT and len(args) > 3 and isinstance(args[3], (list, tuple)):
            names = ("input", "batch_sizes", *names[1:])  # a packed sequence
        return scalars(names, args, kwargs)
    defaults = func.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    found = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    return scalars((), (), {**found, **dict(zip(names, args, strict=False)), **kwargs})
