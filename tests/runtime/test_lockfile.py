"""The lockfile: what it keeps, what it finds, how far it says things are apart."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, DocumentError, load_rules
from modellint.runtime import Pool, Request
from modellint.runtime.lockfile import Locked, Taken, read_lockfile, take, verify, written
from modellint.runtime.lockfile.distance import distance, unpacked

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
MODEL = """
import torch
from torch import nn

CHANGE = lambda state: state


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 40)
        self.norm = nn.BatchNorm1d(40)
        self.head = nn.Linear(40, 5)
        self.register_buffer("table", torch.arange(3), persistent=False)

    def forward(self, x):
        return {"scores": self.head(self.norm(self.fc(x)).relu()), "best": self.head(self.fc(x)).argmax(-1)}


def build():
    net = Net()
    draw = torch.Generator().manual_seed(1)
    state = {name: torch.rand(value.shape, generator=draw).to(value.dtype) for name, value in net.state_dict().items()}
    net.load_state_dict(CHANGE(state))
    return net.eval()


def example_inputs():
    return torch.randn(3, 6)
"""


SHORT = struct.pack("<Q", 60) + b'{"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 4]}}'


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


def _lock(pool: Pool, folder: Path, target: str = "net.py:build") -> tuple[dict[str, Locked], Request, Taken]:
    request = Request(target, root=folder, timeout=120)
    (taken,) = take([request], RULES, pool)
    assert taken.problem is None
    assert taken.fingerprint is not None
    (folder / "modellint.lock").write_text(written({target: Locked(target, taken.fingerprint)}), encoding="utf-8")
    return read_lockfile(folder / "modellint.lock"), request, taken


def _verify(pool: Pool, locked: dict[str, Locked], request: Request) -> Taken:
    assert request.root is not None
    (taken,) = verify(locked, [request], RULES, pool, request.root / "modellint.lock")
    assert taken.problem is None
    return taken


def _changed(folder: Path, change: str) -> None:
    text = MODEL.replace("CHANGE = lambda state: state", change)
    assert text != MODEL
    (folder / "net.py").write_text(text, encoding="utf-8")


def test_what_was_locked_in_one_run_verifies_in_the_next(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    locked, request, _ = _lock(pool, tmp_path)

    with Pool() as another:
        taken = _verify(another, locked, request)

    assert taken.diagnostics == ()
    assert taken.notes == ()


def test_the_same_model_gives_the_same_bytes(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    _lock(pool, tmp_path)
    first = (tmp_path / "modellint.lock").read_bytes()
    _lock(pool, tmp_path)

    assert (tmp_path / "modellint.lock").read_bytes() == first


def test_dropout_that_is_active_leaves_the_outputs_out_and_says_so(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL.replace(".relu()", ".relu().bernoulli(0.5)"), encoding="utf-8")
    locked, request, taken = _lock(pool, tmp_path)

    assert any("different outputs" in note for note in taken.notes)
    assert _verify(pool, locked, request).diagnostics == ()


@pytest.mark.parametrize("tensor", ["fc.weight", "head.bias", "norm.running_var", "norm.num_batches_tracked"])
def test_one_flipped_bit_is_found_and_named(tensor: str, pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    locked, request, _ = _lock(pool, tmp_path)
    _changed(
        tmp_path,
        f"def CHANGE(state):\n    state[{tensor!r}].view(-1).view(torch.uint8)[0] ^= 1\n    return state",
    )

    (finding,) = _verify(pool, locked, request).diagnostics

    assert finding.code == "ML706"
    assert f"1 of 10 tensors differ: {tensor} changed by about" in finding.message
    assert finding.runtime is not None
    assert list(finding.runtime.evidence["tensors"]) == [tensor]


def test_outputs_that_agree_within_tolerance_are_told_from_those_that_do_not(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    locked, request, _ = _lock(pool, tmp_path)

    _changed(tmp_path, "def CHANGE(state):\n    state['head.bias'][0] += 1e-6\n    return state")
    (near,) = _verify(pool, locked, request).diagnostics
    _changed(tmp_path, "def CHANGE(state):\n    state['head.bias'][0] += 1\n    return state")
    (far,) = _verify(pool, locked, request).diagnostics

    assert "outputs agree within tolerance" in near.message
    assert "outputs differ (scores: max|d| 1 " in far.message


def test_a_layer_that_is_new_and_a_mode_that_changed_are_named(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    locked, request, _ = _lock(pool, tmp_path)
    text = MODEL.replace(
        "return net.eval()", "net.extra = nn.Linear(2, 2).requires_grad_(False)\n    return net.train()"
    )
    (tmp_path / "net.py").write_text(text.replace("net.extra = ", "net.extra = torch.manual_seed(0) and "))

    (finding,) = _verify(pool, locked, request).diagnostics

    assert "new: extra.weight, extra.bias" in finding.message
    assert "eval mode has become train mode" in finding.message


def test_two_builds_with_other_weights_mean_that_nothing_was_loaded(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL.replace("    net.load_state_dict(CHANGE(state))\n", ""), encoding="utf-8")
    locked, request, taken = _lock(pool, tmp_path)
    verified = _verify(pool, locked, request)

    for found in (taken.diagnostics, verified.diagnostics):
        (finding,) = found
        assert finding.code == "ML401"
        assert finding.runtime is not None
        assert finding.runtime.evidence["random"] == ["fc.weight", "fc.bias", "head.weight", "head.bias"]


def test_weights_that_are_no_longer_loaded_are_told_from_weights_that_changed(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    locked, request, _ = _lock(pool, tmp_path)
    _changed(tmp_path, "def CHANGE(state):\n    state['head.weight'] = nn.Linear(40, 5).weight\n    return state")

    findings = _verify(pool, locked, request).diagnostics

    assert [finding.code for finding in findings] == ["ML401"]
    assert "head.weight" in findings[0].message


# Files of weights ------------------------------------------------------------------------------------------


def _state() -> dict[str, object]:
    draw = torch.Generator().manual_seed(1)
    return {
        "model": {"fc.weight": torch.randn(4, 3, generator=draw), "half": torch.randn(7, generator=draw).half()},
        "steps": [torch.arange(5), torch.tensor(True), torch.tensor([1 + 2j]), torch.empty(0, 2)],
        "epoch": 3,
    }


def _write_safetensors(path: Path, tensors: dict[str, object]) -> None:
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.numpy().tobytes()  # type: ignore[attr-defined]
        shape = list(tensor.shape)  # type: ignore[attr-defined]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def _artefact(kind: str, path: Path, bump: float) -> None:
    model = torch.nn.Linear(3, 2)
    torch.nn.init.constant_(model.weight, 0.5)
    torch.nn.init.constant_(model.bias, bump)
    if kind == "pt":
        torch.save({"model": model.state_dict(), "epoch": 3}, path)
    elif kind == "safetensors":
        _write_safetensors(path, dict(model.state_dict().items()))
    elif kind == "pt2":
        torch.export.save(torch.export.export(model, (torch.ones(1, 3),)), path)
    elif kind == "scripted.pt":
        torch.jit.script(model).save(str(path))
    else:
        onnx = pytest.importorskip("onnx")
        helper = onnx.helper
        weight = onnx.numpy_helper.from_array(model.bias.detach().numpy(), "bias")
        node = helper.make_node("Add", ["x", "bias"], ["y"])
        value = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
        onnx.save(helper.make_model(helper.make_graph([node], "net", value[:1], value[1:], [weight])), path)


@pytest.mark.parametrize("kind", ["pt", "safetensors", "pt2", "scripted.pt", "onnx"])
def test_a_file_of_weights_verifies_until_a_value_changes(kind: str, pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / f"weights.{kind}"
    _artefact(kind, path, 0.25)
    locked, request, _ = _lock(pool, tmp_path, path.name)
    assert _verify(pool, locked, request).diagnostics == ()
    _artefact(kind, path, 0.25)
    assert _verify(pool, locked, request).diagnostics == ()

    _artefact(kind, path, math.nextafter(0.25, 1.0) + 1e-7)
    (finding,) = _verify(pool, locked, request).diagnostics

    assert "bias changed by about" in finding.message
    assert Path(finding.filename) == path


@pytest.mark.parametrize("bit", [0, 7])
@pytest.mark.parametrize("kind", ["pt", "safetensors", "pt2", "scripted.pt", "onnx"])
def test_one_bit_that_flips_in_a_file_is_found_and_named(kind: str, bit: int, pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / f"weights.{kind}"
    _artefact(kind, path, 0.25)
    locked, request, _ = _lock(pool, tmp_path, path.name)
    data = bytearray(path.read_bytes())
    place = data.find(struct.pack("<2f", 0.25, 0.25))
    assert place > 0
    assert data.find(struct.pack("<2f", 0.25, 0.25), place + 1) < 0

    data[place] ^= 1 << bit
    path.write_bytes(data)
    (finding,) = _verify(pool, locked, request).diagnostics
    data[place] ^= 1 << bit
    path.write_bytes(data)

    assert finding.runtime is not None
    assert [name.rpartition(".")[2] for name in finding.runtime.evidence["tensors"]] == ["bias"]
    assert _verify(pool, locked, request).diagnostics == ()


def test_every_type_of_tensor_can_be_locked(pool: Pool, tmp_path: Path) -> None:
    torch.save(_state(), tmp_path / "w.pt")
    locked, request, taken = _lock(pool, tmp_path, "w.pt")

    assert taken.fingerprint is not None
    assert list(taken.fingerprint.tensors) == [
        "model.fc.weight", "model.half", "steps.0", "steps.1", "steps.2", "steps.3",
    ]  # fmt: skip
    assert _verify(pool, locked, request).diagnostics == ()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("w.pt", b"no archive at all", "is no file of torch.save"),
        ("w.safetensors", b"\xff" * 20, "is no safetensors file"),
        ("w.safetensors", SHORT, "damaged"),
        ("w.pt2", b"PK\x03\x04", "is damaged"),
        ("w.onnx", b"\x00\x01\x02", "be read"),  # or, without the package onnx: "needs ... to be read"
    ],
)  # fmt: skip
def test_a_damaged_file_is_one_line(name: str, data: bytes, words: str, pool: Pool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)

    (taken,) = take([Request(name, root=tmp_path, timeout=60)], RULES, pool)

    assert taken.problem is not None
    assert words in taken.problem
    assert "\n" not in taken.problem


# How far apart ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 255, 256, 257, 5000, 300_000])
def test_the_distance_of_two_tensors_is_estimated_within_a_factor_of_two(size: int) -> None:
    from modellint.runtime.worker.prints import tensor_print

    draw = torch.Generator().manual_seed(size)
    first = torch.randn(size, generator=draw)
    dense, single = first + 1e-3 * torch.randn(size, generator=draw), first.clone()
    single[random.Random(size).randrange(size)] += 0.25

    for other in (dense, single):
        real = float((first.double() - other.double()).norm())
        told = distance(tensor_print(first), tensor_print(other)).total
        assert real / 2 < told < real * 2
    alone = distance(tensor_print(first), tensor_print(single))
    assert alone.total == pytest.approx(0.25, rel=1e-4)
    assert alone.single
    assert size == 1 or not distance(tensor_print(first), tensor_print(dense)).single


def test_a_tensor_with_values_that_are_not_finite_has_a_hash_and_no_summary() -> None:
    from modellint.runtime.worker.prints import tensor_print

    found = tensor_print(torch.tensor([1.0, math.nan]))

    assert found.sketch is None
    assert found.hash != tensor_print(torch.tensor([1.0, math.inf])).hash


def test_the_sums_of_a_sketch_are_the_same_for_all_time() -> None:
    """Other signs would make every lockfile of before say nonsense about distances."""
    from modellint.runtime.worker.prints import tensor_print

    sketch = tensor_print(torch.arange(600.0)).sketch
    assert sketch is not None
    assert unpacked(sketch) == PINNED


PINNED = (-8710.0, 2314.0, 3264.0, -9658.0, -15422.0, 6148.0, 9000.0, -25906.0)


# The file itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (("version: 1", "version: 7"), "modellint.lock:2: version: 7 is not known"),
        (("models:", "packages:"), "modellint.lock:2: lacks 'models'"),
        (('    kind: "model"', '    kind: "modle"'), "kind: 'modle' is none of"),
        (('"norm.bias": {"dtype": "float32"', '"norm.bias": {"dtype": "float16"'), "weights: does not fit"),
        (('"shape": [40]', '"shape": [-1]'), "shape[0]"),
        (("tensors:", "tensors: ["), "is not valid YAML"),
    ],
)
def test_a_damaged_lockfile_is_one_line_with_file_and_key(
    damage: tuple[str, str], words: str, pool: Pool, tmp_path: Path
) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    path = tmp_path / "modellint.lock"
    _lock(pool, tmp_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(*damage, 1), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text

    with pytest.raises(DocumentError) as error:
        read_lockfile(path)

    assert words in str(error.value)
    assert "\n" not in str(error.value)
