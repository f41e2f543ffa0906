"""The names by which models are told from what makes them."""

from __future__ import annotations

import pytest

from modellint.static.flow.vocabulary import HELD_MODEL, MODEL_NAME


@pytest.mark.parametrize(
    "name", ["read_model", "compile_model", "convert_to_multimodal_model", "_build_net", "save_unet"]
)
def test_what_makes_a_model_is_none(name: str) -> None:
    assert MODEL_NAME.match(name) is None
    assert HELD_MODEL.match(name) is None


@pytest.mark.parametrize("name", ["model", "_model", "compiled_model", "target_net", "netG", "converted_policy"])
def test_a_model(name: str) -> None:
    assert MODEL_NAME.match(name) is not None
    assert HELD_MODEL.match(name) is not None
