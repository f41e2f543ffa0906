from __future__ import annotations

import pytest

from modellint.runtime.inspect.finding import compress, list_modules
from modellint.runtime.trace import (
    Frame,
    Level,
    ModuleFact,
    Op,
    Site,
    Trace,
    to_json,
    trace_from_json,
)


@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        ([""], ["the model itself"]),
        (["head"], ["head"]),
        (["layer.0.drop", "layer.1.drop", "layer.2.drop"], ["layer.0..2.drop"]),
        (["layer.0.drop", "layer.2.drop", "layer.3.drop"], ["layer.0,2..3.drop"]),
        (["a.0.b.0", "a.0.b.1", "a.1.b.0", "a.1.b.1"], ["a.0..1.b.0..1"]),
        (["a.0", "b.0", "b.1"], ["a.0", "b.0..1"]),
    ],
)
def test_paths_that_differ_in_their_numbers_are_written_once(paths: list[str], shown: list[str]) -> None:
    assert compress(paths) == shown


def test_a_long_list_is_cut_and_its_length_said() -> None:
    text = list_modules(["a", "b", "c", "d", "e"])

    assert text == "5 modules: a, b, c and 2 more"


def test_a_module_called_twice_counts_once() -> None:
    assert list_modules(["a", "a"]) == "a"


def test_a_trace_survives_its_way_through_json() -> None:
    frame = Frame("/x.py", 3, 4, (2, 9), "m.f")
    trace = Trace(
        target="x.py:build",
        home=frame,
        torch_version="2.13.0",
        device="cpu",
        root_training=False,
        levels=(Level("record", True),),
        modules=(ModuleFact("a", "torch.nn.Dropout", True, {"p": 0.5}, calls=2, site=0),),
        ops=(Op("aten.dropout.default", "a", 0, {"p": 0.5}, taint=1, draws=True, shape=(2, 8)),),
        sites=(Site(frame, frame),),
        notes=("said",),
    )

    assert trace_from_json(to_json(trace)) == trace


@pytest.mark.parametrize(
    ("op", "live"),
    [
        (Op("aten.dropout.default", "", args={"p": 0.5, "train": False}, draws=True), False),
        (Op("aten.dropout.default", "", args={"p": 0.0, "train": True}, draws=True), False),
        (Op("aten.scaled_dot_product_attention.default", "", draws=True), False),
        (Op("aten.rrelu.default", "", draws=True), False),
        (Op("aten.lstm.input", "", args={"dropout": 0.5, "train": True, "num_layers": 1}, draws=True), False),
        (Op("aten.relu.default", ""), False),
        (Op("aten.dropout_.default", "", args={"p": 0.5, "train": True}, draws=True), True),
        (Op("aten.scaled_dot_product_attention.default", "", args={"dropout_p": 0.1}, draws=True), True),
        (Op("aten.lstm.input", "", args={"dropout": 0.5, "train": True, "num_layers": 2}, draws=True), True),
        (Op("aten.rand.default", "", draws=True), True),
    ],
)
def test_an_operation_draws_only_where_its_arguments_say_so(op: Op, live: bool) -> None:
    assert op.live is live
