from __future__ import annotations

import json
from pathlib import Path

import pytest

from modellint.runtime.specs import FREE_SIZE, InputSpec, SpecError, parse_spec, parse_specs


def test_shape_and_dtype(tmp_path: Path) -> None:
    spec = parse_spec("float32[2,3,224,224]", tmp_path)

    assert (spec.path, spec.dtype, spec.shape, spec.low) == ((), "float32", (2, 3, 224, 224), None)


def test_a_name_and_a_range(tmp_path: Path) -> None:
    spec = parse_spec("ids=int64[2,16]:0..30522", tmp_path)

    assert (spec.path, spec.dtype, spec.low, spec.high) == (("ids",), "int64", 0, 30522)


def test_a_scalar_spaces_aliases_and_negative_limits(tmp_path: Path) -> None:
    assert parse_spec("int64[]", tmp_path).shape == ()
    spec = parse_spec(" x = float [ 2 , 3 ] : -1.5 .. 1e1 ", tmp_path)
    assert (spec.dtype, spec.shape, spec.low, spec.high) == ("float32", (2, 3), -1.5, 10.0)


def test_a_named_size_is_free(tmp_path: Path) -> None:
    assert parse_spec("float32[N,3,?]", tmp_path).shape == (FREE_SIZE, 3, FREE_SIZE)


def test_literals_and_places_inside_an_argument(tmp_path: Path) -> None:
    assert parse_spec("max_new_tokens=5", tmp_path).literal == 5
    assert parse_spec("use_cache=None", tmp_path).is_literal
    assert parse_spec("texts=['a', 'b']", tmp_path).literal == ["a", "b"]
    assert parse_spec("batch.images.0=float32[3]", tmp_path).path == ("batch", "images", "0")


def test_a_file_counts_from_the_root(tmp_path: Path) -> None:
    (tmp_path / "x.pt").touch()

    assert parse_spec("ids=x.pt", tmp_path).file == str((tmp_path / "x.pt").resolve())


@pytest.mark.parametrize("text", ["float32[2,3]", "ids=int64[2]:0..5", "n=3", "task='a'"])
def test_a_spec_survives_its_way_to_the_worker(text: str, tmp_path: Path) -> None:
    spec = parse_spec(text, tmp_path)

    assert InputSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "says nothing"),
        ("ids=", "says nothing"),
        ("float33[2]", "unknown dtype 'float33'; did you mean 'float32'?"),
        ("float32[2,x y]", "'x y' is not a size"),
        ("float32[2,-1]", "'-1' is not a size"),
        ("float32[2", "neither a tensor"),
        ("int64[2]:5..5", "the range is empty"),
        ("int64[2]:five", "is not a range"),
        ("missing.pt", "there is no file missing.pt"),
        ("x={1, 2}", "neither a tensor"),
        ("__import__('os')", "neither a tensor"),
    ],
)
def test_a_wrong_spec_is_one_line_that_shows_it(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(text, tmp_path)

    assert reason in str(caught.value)
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_argument_given_twice(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="x is given twice"):
        parse_specs(("x=float32[2]", "x=int64[3]"), tmp_path)
