"""Inputs that go through a transform or a tokenizer that the user names."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.runtime import Pool, Request, TargetReport, trace_targets
from modellint.runtime.specs import SpecError, parse_spec

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

NEEDS_PILLOW = pytest.mark.skipif(find_spec("PIL") is None, reason="needs Pillow")
RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
FILE = """
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        assert x.shape == (1, 3, 6, 8), x.shape
        return x


class Text(nn.Module):
    def forward(self, input_ids, attention_mask=None):
        assert input_ids.shape[0] == 2 and attention_mask.shape == input_ids.shape
        return input_ids


def build():
    return Net().eval()


def text():
    return Text().eval()


def pixels(image):
    values = torch.tensor(list(image.tobytes()), dtype=torch.float32)
    return values.view(image.height, image.width, 3).permute(2, 0, 1) / 255


def make():
    return pixels


def broken(image):
    raise ValueError("no such colour")
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


def _trace(pool: Pool, folder: Path, target: str, *inputs: str) -> TargetReport:
    (folder / "net.py").write_text(FILE, encoding="utf-8")
    (report,) = trace_targets([Request(target, inputs, root=folder, timeout=120)], RULES, pool=pool)
    return report


@pytest.mark.parametrize("processor", ["net.py:pixels", "net.py:make"])
def test_an_image_goes_through_a_transform_or_a_factory_of_one(processor: str, pool: Pool, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGBA", (8, 6)).save(tmp_path / "cat.png")

    for source in ("image[6,8]", "cat.png"):
        report = _trace(pool, tmp_path, "net.py:build", f"{source} | {processor}")
        assert report.problem is None
        assert report.trace is not None
        assert report.trace.level() == "record"


def test_a_text_goes_through_the_tokenizer_of_a_local_folder(pool: Pool, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "[PAD]": 1, "cat": 2}, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    (tmp_path / "words").mkdir()
    words.save(str(tmp_path / "words" / "tokenizer.json"))
    (tmp_path / "words" / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]"}', encoding="utf-8"
    )

    report = _trace(pool, tmp_path, "net.py:text", "['a cat', 'cat'] | tokenizer:words")

    assert report.problem is None
    assert report.trace is not None
    assert report.trace.level() == "record"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param("image[6,8] | net.py:broken", "broken raised ValueError: no such colour", marks=NEEDS_PILLOW),
        ("image[6,8] | net.py:pixel", "has no 'pixel'; there is pixels"),
        ("image[6,8] | gone.py:f", "there is no file gone.py"),
    ],
)
def test_what_is_wrong_with_a_transform_is_one_line(spec: str, words: str, pool: Pool, tmp_path: Path) -> None:
    report = _trace(pool, tmp_path, "net.py:build", spec)

    assert report.problem is not None
    assert words in report.problem
    assert "\n" not in report.problem


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("dog.png | prep.py:f", "there is no file dog.png"),
        ("'a cat' | tokenizer:nowhere", "there is no folder nowhere"),
        ("image[6] | prep.py:f", "before the bar stands image[224,224], an image file"),
    ],
)
def test_what_is_wrong_with_a_source_is_told_before_anything_runs(spec: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as error:
        parse_spec(spec, tmp_path)

    assert words in str(error.value)


@pytest.mark.parametrize("spec", ["sep='a|b'", "sep='x | y:z'", "float32[2,3]", "words=['a|b:c', 'd']"])
def test_a_bar_inside_a_text_is_just_a_bar(spec: str, tmp_path: Path) -> None:
    assert parse_spec(spec, tmp_path).processor is None
