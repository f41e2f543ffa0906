"""One small model of each type that transformers knows, with random weights and with inputs that its forward takes.

`small(model_type)` shrinks the configuration of the type, and those nested in it, by the names of their settings;
`inputs(model)` fills the arguments of the forward by name. `MODELS` holds what has to be said by hand. Nothing is
downloaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice, product
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

VOCABULARY = 120
LENGTH = 8
IMAGE = 32
BATCH = 2
MOST = 80_000_000
"""Parameters of the largest model that is built."""

_NARROW = {
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embedding_size": 32, "emb_dim": 32, "hidden_dim": 48,
    "embed_dim": 32, "projection_dim": 32, "output_dim": 32, "encoder_hidden_size": 32, "vision_hidden_size": 32,
    "text_hidden_size": 32, "cross_attention_hidden_size": 32, "visual_hidden_size": 32, "out_hidden_size": 32,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "num_key_value_heads": 2, "num_kv_heads": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "head_dim": 8, "attention_heads": 4,
    "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 8, "global_head_dim": 8,
    "intermediate_size": 48, "d_ff": 48, "d_kv": 8, "ffn_dim": 48, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
    "n_inner": 48, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16, "mlp_dim": 48,
    "q_lora_rank": 16, "kv_lora_rank": 8, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "qk_head_dim": 16, "rotary_dim": 4, "index_head_dim": 16, "index_n_heads": 2, "index_topk": 4,
    "mamba_d_state": 8, "mamba_d_head": 16, "mamba_n_heads": 4, "mamba_expand": 2, "state_size": 8,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
}  # fmt: skip
_WIDE = {
    name: {32: 128, 48: 128, 4: 2, 8: 64, 16: 64}.get(size, size)
    for name, size in _NARROW.items()
    if not name.startswith(("mamba", "linear", "index", "q_lora", "kv_lora"))
}
"""For types that work the number of heads out: one for every 64 columns."""
_SHALLOW = {
    "vocab_size": VOCABULARY, "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "layers": 2,
    "encoder_layers": 2, "decoder_layers": 2, "depth": 2, "num_encoder_layers": 2, "num_decoder_layers": 2,
    "num_block": 2, "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "moe_num_experts": 4, "moe_k": 2, "n_group": 1, "topk_group": 1, "n_shared_experts": 1, "first_k_dense_replace": 1,
    "max_position_embeddings": 64, "n_positions": 64, "max_source_positions": 64, "max_target_positions": 64,
    "image_size": IMAGE, "vision_vocab_size": VOCABULARY, "text_vocab_size": VOCABULARY, "src_vocab_size": VOCABULARY,
    "tgt_vocab_size": VOCABULARY, "entity_vocab_size": VOCABULARY, "vocab_size_per_layer_input": VOCABULARY,
    "num_nextn_predict_layers": 0, "moe_layer_start_index": 1, "num_queries": 10, "num_query_tokens": 4,
    "n_ctx": 64, "max_window_layers": 2, "sliding_window": 16, "num_buckets": 8, "depths": 1, "num_frames": 2,
    "attn_layer_indices": 1, "encoder_vocab_size": VOCABULARY, "decoder_vocab_size": VOCABULARY,
    "cross_layer_hidden_size": 32, "moe_topk": 2, "num_groups": 1, "num_mem_blocks": 2,
}  # fmt: skip
_TOKENS = ("_token_id", "_token_index", "_token_ids")
_LEVELS: tuple[Mapping[str, int], ...] = ({**_SHALLOW, **_NARROW}, {**_SHALLOW, **_WIDE}, _SHALLOW, {})
"""How a configuration is shrunk: the first that makes a model which runs is taken."""
_COMBINATIONS = 12


class NoForward(Exception):
    """No configuration that was tried makes a model whose own forward runs; the message says how one failed."""


class Unfilled(TorchFunctionMode):
    """On the meta device, where weights have no values: spares the time of filling them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in _FILLS and args:
            return args[0]
        return func(*args, **(kwargs or {}))


_FILLS = ("normal_", "uniform_", "erfinv_", "mul_", "add_", "clamp_", "fill_", "zero_", "bernoulli_", "div_")


def types() -> list[str]:
    """Return the types that transformers has a base model for."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return list(MODEL_MAPPING_NAMES)


def small(model_type: str) -> tuple[nn.Module, dict[str, Any]]:
    """Return a model of this type in evaluation mode, and arguments with which its forward ran once.

    Raises `NoForward`.
    """
    failure: Exception | None = None
    for sizes in _LEVELS:
        try:
            model = _built(model_type, sizes)
        except Exception as error:
            failure = failure or error
            continue
        try:
            return model, _accepted(model)
        except Exception as error:
            failure = error
    raise NoForward(f"{type(failure).__name__}: {failure}") from failure


def _accepted(model: nn.Module) -> dict[str, Any]:
    """Return the first arguments that the forward takes. Raises what it raises for the last ones."""
    failure: Exception = NoForward("none of its arguments is known")
    for arguments in _arguments(model):
        try:
            with torch.no_grad():
                model(**arguments)
            return arguments
        except Exception as error:
            failure = error
    raise failure


def _built(model_type: str, sizes: Mapping[str, int]) -> nn.Module:
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.for_model(model_type, **OVERRIDES.get(model_type, {}))
    for part in parts(config):
        _shrink(part, sizes)
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in AutoModel.from_config(config).parameters())
    if count > MOST:
        raise ValueError(f"{count:,} parameters")
    torch.manual_seed(0)
    model: nn.Module = AutoModel.from_config(config).eval()
    return model


def parts(config: Any) -> Iterator[Any]:
    """Yield a configuration and those nested in it."""
    yield config
    for value in list(vars(config).values()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            yield from parts(value)


def _shrink(config: Any, sizes: Mapping[str, int]) -> None:
    layers = next(
        (n for name in ("num_hidden_layers", "n_layer", "num_layers") if (n := getattr(config, name, None))), 0
    )
    kept = _kept(getattr(config, "layer_types", None), layers)
    for name, value in list(vars(config).items()):
        small = sizes.get(name.lstrip("_"))
        with suppress(AttributeError, NotImplementedError, TypeError, ValueError):
            if type(value) is int and small is not None and value > small:
                setattr(config, name, len(kept) if kept and value == layers else small)
            elif small is not None and isinstance(value, (list, tuple)) and all(type(item) is int for item in value):
                setattr(
                    config, name, [min(item, small) for item in value][: 1 if small == 1 and name != "depths" else None]
                )
            elif sizes and isinstance(value, list) and layers and len(value) == layers:
                setattr(config, name, [value[index] for index in kept or (0, -1)])
    if "vocab_size" in sizes:
        _renumber(config)
    for name in ("rope_parameters", "rope_scaling"):
        rope = getattr(config, name, None)
        if "head_dim" in sizes and isinstance(rope, dict) and "mrope_section" in rope:
            half = sizes["head_dim"] // 2
            rope["mrope_section"] = [half - 2 * (half // 4), half // 4, half // 4]


def _kept(kinds: Any, layers: int) -> tuple[int, ...]:
    """Return the layers to keep where they are of different kinds: the first of each, two at least."""
    if not isinstance(kinds, list) or len(kinds) != layers or layers < 2:
        return ()
    firsts = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    return tuple(sorted(firsts if len(firsts) > 1 else (0, layers - 1)))


def _renumber(config: Any) -> None:
    """Move the numbers of special tokens into the vocabulary, each to one of its own."""
    free = VOCABULARY - 1
    for name, value in list(vars(config).items()):
        if name.endswith(_TOKENS) and type(value) is int and value >= VOCABULARY:
            setattr(config, name, free)
            free -= 1


def _arguments(model: nn.Module) -> Iterator[dict[str, Any]]:
    """Yield arguments to try: what the forward demands and its main input, then with all else that is known of."""
    signature = inspect.signature(model.forward).parameters
    main = getattr(model, "main_input_name", "input_ids")
    needed = {
        name
        for name, parameter in signature.items()
        if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }
    decoder = {"decoder_input_ids"} & set(signature)
    least = (needed | {main} | decoder) & set(signature)
    for names in dict.fromkeys(
        (
            tuple(name for name in signature if name in least),
            tuple(name for name in signature if name in least or name == "input_ids"),
            tuple(name for name in signature if name in least or name in (*_WITH, "input_ids")),
            tuple(name for name in signature if name in needed or name == "input_ids"),
        )
    ):
        makers = [MAKERS[name] for name in names if name in MAKERS]
        known = [name for name in names if name in MAKERS]
        for values in islice(product(*(maker(model.config) for maker in makers)), _COMBINATIONS):
            yield dict(zip(known, values, strict=True))


def first(config: Any, *names: str) -> Any:
    """Return the first of these settings that the configuration, or one nested in it, has; else None."""
    for name in names:
        for part in parts(config):
            if (value := getattr(part, name, None)) is not None:
                return value
    return None


def _size(config: Any, *names: str, default: int) -> int:
    value = first(config, *names)
    return int(value) if isinstance(value, (int, float)) else default


def _ids(config: Any) -> list[torch.Tensor]:
    return [torch.randint(5, min(_size(config, "vocab_size", default=VOCABULARY), VOCABULARY) - 30, (BATCH, LENGTH))]


def _pixels(config: Any) -> list[torch.Tensor]:
    size = first(config, "image_size", "input_size", "crop_size", "img_size") or 2 * IMAGE
    if isinstance(size, Mapping):
        size = list(size.values())
    height, width = (size, size) if isinstance(size, (int, float)) else (size[-2:] if len(size) > 1 else size * 2)
    channels = _size(config, "num_channels", "in_channels", "in_chans", default=3)
    frames = _size(config, "num_frames", "frames_per_clip", default=2)
    image = torch.randn(BATCH, channels, int(height), int(width))
    return [image, image[:, None].expand(-1, frames, -1, -1, -1), torch.randn(BATCH, channels, 2 * IMAGE, 2 * IMAGE)]


def _patches(config: Any) -> list[torch.Tensor]:
    patch = _size(config, "patch_size", default=14)
    columns = _size(config, "in_channels", "num_channels", "in_chans", default=3) * patch * patch
    deep = columns * _size(config, "temporal_patch_size", default=1)
    return [torch.randn(16, deep), torch.randn(16, columns), torch.randn(BATCH, 16, columns)]


def _wave(config: Any) -> list[torch.Tensor]:
    bins = _size(config, "num_mel_bins", default=80)
    length = _size(config, "max_length", default=128)
    return [torch.randn(BATCH, 4_000), torch.randn(BATCH, 1, 4_000), torch.randn(BATCH, length, bins)]


def _features(config: Any) -> list[torch.Tensor]:
    names = (
        "num_mel_bins",
        "feature_size",
        "input_feat_per_channel",
        "input_dim",
        "feature_projection_input_dim",
        "n_mels",
    )
    bins, frames = _size(config, *names, default=80), 2 * _size(config, "max_source_positions", default=64)
    return [torch.randn(BATCH, bins, frames), torch.randn(BATCH, frames, bins), torch.randn(BATCH, 1, 1024, bins)]


def _hidden(config: Any) -> list[torch.Tensor]:
    width = _size(config, "hidden_size", "d_model", default=32)
    return [*_patches(config), torch.randn(BATCH, LENGTH, width)]


def _series(config: Any) -> list[torch.Tensor]:
    length, channels = _size(config, "context_length", default=32), _size(config, "num_input_channels", default=1)
    return [torch.randn(BATCH, length, channels), torch.randn(BATCH, length)]


def _queries(config: Any) -> list[torch.Tensor]:
    return [torch.randn(BATCH, _size(config, "num_query_tokens", default=4), _size(config, "hidden_size", default=32))]


def _boxes(config: Any) -> list[torch.Tensor]:
    return [torch.zeros(BATCH, LENGTH, 4, dtype=torch.int64), torch.zeros(BATCH, LENGTH, 8)]


def _ones(config: Any) -> list[torch.Tensor]:
    return [torch.ones(BATCH, LENGTH, dtype=torch.int64)]


def _grid(config: Any) -> list[torch.Tensor]:
    return [torch.tensor([[1, 4, 4]])]


def _objects(config: Any) -> list[torch.Tensor]:
    return [torch.randn(BATCH, 5, _size(config, "visual_feat_dim", "visual_embedding_dim", default=2048))]


def _corners(config: Any) -> list[torch.Tensor]:
    return [torch.rand(BATCH, 5, 4)]


def _frames(config: Any) -> list[torch.Tensor]:
    return [torch.ones(BATCH, features.shape[-1], dtype=torch.int64) for features in _features(config)]


def _embedded(config: Any) -> list[torch.Tensor]:
    return [torch.randn(BATCH, LENGTH, _size(config, "hidden_size", "d_model", default=32))]


def _encoded(config: Any) -> list[torch.Tensor]:
    return [torch.randn(BATCH, LENGTH, _size(config, "encoder_hidden_size", default=32))]


MAKERS: dict[str, Callable[[Any], list[Any]]] = {
    "input_ids": _ids, "decoder_input_ids": _ids, "attention_mask": _ones, "bbox": _boxes, "pixel_values": _pixels,
    "pixel_values_videos": _pixels, "input_values": _wave, "input_features": _features, "hidden_states": _hidden,
    "grid_thw": _grid, "image_grid_thw": _grid, "query_embeds": _queries, "past_values": _series,
    "visual_feats": _objects, "visual_pos": _corners, "input_features_mask": _frames, "inputs_embeds": _embedded,
    "encoder_hidden_states": _encoded,
}  # fmt: skip
_WITH = (
    "pixel_values",
    "input_features",
    "input_values",
    "bbox",
    "input_features_mask",
    "image_grid_thw",
    "encoder_hidden_states",
)
"""Arguments that a model of several kinds of input wants although its signature does not say so."""
OVERRIDES: dict[str, dict[str, Any]] = {
    "autoformer": {"prediction_length": 4, "context_length": 16},
    "informer": {"prediction_length": 4, "context_length": 16},
    "bamba": {"attn_layer_indices": [1]},
    "time_series_transformer": {"prediction_length": 4, "context_length": 16},
}
"""Settings without which a type has no configuration."""
