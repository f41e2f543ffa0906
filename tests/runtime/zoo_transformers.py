"""Small transformers models by type: each configuration shrunk to run in well under a second."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

_SMALL: dict[str, Any] = {
    "vocab_size": 120, "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embedding_size": 32,
    "emb_dim": 32, "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "encoder_layers": 2,
    "decoder_layers": 2, "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "rotary_dim": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 48,
    "d_ff": 48, "d_kv": 8, "head_dim": 8, "ffn_dim": 48, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
    "image_size": 64, "max_position_embeddings": 64, "n_positions": 64, "n_inner": 48, "hidden_dim": 48,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "num_kv_heads": 4,
}  # fmt: skip
_STAGED = ("depths", "hidden_sizes", "block_sizes")


def small(model_type: str) -> Any:
    """Return a model of this type with random weights, in training mode, as its constructor leaves it.

    A model in stages keeps the sizes of its own: they depend on one another.
    """
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.for_model(model_type)
    for part in (config, *(getattr(config, name, None) for name in ("text_config", "vision_config"))):
        if part is None or any(hasattr(part, name) for name in _STAGED):
            continue
        for name, value in _SMALL.items():
            if isinstance(getattr(part, name, None), int) and not isinstance(getattr(part, name), bool):
                with suppress(AttributeError, NotImplementedError):
                    setattr(part, name, value)
    model = AutoModel.from_config(config)
    model.train()
    return model
