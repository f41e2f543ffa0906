"""Files that are broken or mean ill: one line each, and nothing of them runs."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.runtime import Pool, Request, TargetReport, trace_targets

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
SUFFIXES = (".pt", ".pth", ".bin", ".ckpt", ".ts", ".safetensors", ".pt2", ".onnx")


class Shell:
    """What a pickle does that wants to run a command."""

    def __init__(self, command: str) -> None:
        self._command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self._command,)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


@pytest.fixture
def refused(pool: Pool, tmp_path: Path) -> Callable[[Path], str]:
    """Trace a file and return the one line why it is not read."""

    def trace(path: Path) -> str:
        report = _report(path, pool)
        assert report.problem is not None
        assert not report.diagnostics
        assert "\n" not in report.problem
        assert report.problem.startswith(f"{path.name}: ")
        assert not list(tmp_path.glob("*ran*"))
        return report.problem

    return trace


def _report(path: Path, pool: Pool) -> TargetReport:
    (report,) = trace_targets([Request(path.name, root=path.parent)], RULES, pool=pool)
    return report


def _exported(path: Path) -> Path:
    torch.export.save(torch.export.export(nn.Linear(2, 2).eval(), (torch.randn(3, 2),)), path)
    return path


def _changed(path: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Rewrite an archive member by member; None leaves one out."""
    with zipfile.ZipFile(path) as archive:
        members = {name: change(name, archive.read(name)) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            if data is not None:
                archive.writestr(name, data)


@pytest.mark.parametrize("suffix", [".pt", ".safetensors", ".pt2"])
def test_a_sound_file_is_read(suffix: str, pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / f"sound{suffix}"
    if suffix == ".pt":
        torch.save(nn.Linear(2, 2).state_dict(), path)
    elif suffix == ".pt2":
        _exported(path)
    else:
        pytest.importorskip("safetensors.torch").save_file({"w": torch.ones(2)}, path)
    report = _report(path, pool)

    assert report.problem is None
    assert report.diagnostics == ()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file(suffix: str, refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = tmp_path / f"empty{suffix}"
    path.touch()

    assert "is empty" in refused(path) or "needs the package onnx" in refused(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_of_something_else(suffix: str, refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(b"<!DOCTYPE html><html>404 not found</html>" * 20)

    assert "is no " in refused(path) or "needs the package onnx" in refused(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there(suffix: str, pool: Pool, tmp_path: Path) -> None:
    (report,) = trace_targets([Request(f"gone{suffix}", root=tmp_path)], RULES, pool=pool)

    assert report.problem is not None
    assert "there is no file" in report.problem


@pytest.mark.parametrize("kind", ["weights", "scripted", "exported"])
def test_a_truncated_file(kind: str, refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = tmp_path / ("cut.pt2" if kind == "exported" else "cut.pt")
    if kind == "weights":
        torch.save(nn.Linear(2, 2).state_dict(), path)
    elif kind == "scripted":
        torch.jit.script(nn.Linear(2, 2)).save(path)
    else:
        _exported(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])

    assert "is damaged" in refused(path)


@pytest.mark.parametrize("old", [False, True], ids=["zip", "before zip"])
def test_a_checkpoint_that_wants_to_run_a_command(old: bool, refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = tmp_path / "evil.pt"
    command = f"touch {tmp_path}/it_ran"
    torch.save({"w": Shell(command)}, path, _use_new_zipfile_serialization=not old)

    assert f"wants to call {os.system.__module__}.system" in refused(path)


def test_a_pickle_inside_an_exported_program_is_never_opened(pool: Pool, tmp_path: Path) -> None:
    path, evil = _exported(tmp_path / "evil.pt2"), tmp_path / "evil.pt"
    torch.save(Shell(f"touch {tmp_path}/it_ran"), evil)
    _changed(path, lambda name, data: evil.read_bytes() if name.endswith(".pt") else data)

    assert _report(path, pool).problem is None
    assert not (tmp_path / "it_ran").exists()


def test_an_expression_inside_an_exported_program_is_never_evaluated(pool: Pool, tmp_path: Path) -> None:
    path = _exported(tmp_path / "evil.pt2")
    code = f"__import__('os').system('touch {tmp_path}/it_ran')"
    bad = json.dumps({"as_expr": {"expr_str": code, "hint": None}}).encode()
    _changed(path, lambda name, data: data.replace(b'{"as_int": 2}', bad) if name.endswith("model.json") else data)

    assert _report(path, pool).problem is None
    assert not (tmp_path / "it_ran").exists()


def test_torchscript_that_wants_to_write_a_file(refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = tmp_path / "evil.pt"
    torch.jit.script(nn.Linear(2, 2)).save(path)
    line = f'    ops.aten.save(self.weight, "{tmp_path}/it_ran")\n'.encode()

    def change(name: str, data: bytes) -> bytes:
        at = data.find(b"    weight = self.weight") if name.endswith(".py") else -1
        return data if at < 0 else data[:at] + line + data[at:]

    _changed(path, change)
    assert "wants to call ops.aten.save" in refused(path)


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"graph_module": {}}', b'{"graph_module": {"graph": {"nodes": [1]}}}'])
def test_an_exported_program_of_another_form(text: bytes, refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = _exported(tmp_path / "other.pt2")
    _changed(path, lambda name, data: text if name.endswith("model.json") else data)

    assert "is damaged" in refused(path) or "does not know" in refused(path)


def test_an_archive_without_a_graph(refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = _exported(tmp_path / "other.pt2")
    _changed(path, lambda name, data: None if name.endswith("model.json") else data)

    assert "holds no graph" in refused(path)


def test_a_bomb_is_not_unpacked(refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/models/model.json", b" " * 50_000_000)

    assert "not unpacked" in refused(path)


def test_a_protected_archive(refused: Callable[[Path], str], tmp_path: Path) -> None:
    path = _exported(tmp_path / "locked.pt2")
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(mark, at + 1)
    path.write_bytes(data)

    assert "protected by a password" in refused(path)


@pytest.mark.skipif(shutil.which("zip") is None, reason="needs zip")
def test_a_checkpoint_packed_with_a_password(refused: Callable[[Path], str], tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"x" * 100)
    subprocess.run(["zip", "-q", "-P", "secret", "locked.pt", "w"], cwd=tmp_path, check=True)

    assert "protected by a password" in refused(tmp_path / "locked.pt")


@pytest.mark.parametrize("length", [0, 1 << 20, 1 << 63])
def test_safetensors_with_a_header_of_another_length(
    length: int, refused: Callable[[Path], str], tmp_path: Path
) -> None:
    path = tmp_path / "odd.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b'{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}')

    assert "is no safetensors file" in refused(path)


def test_an_onnx_model_whose_weights_are_elsewhere_opens_no_other_file(pool: Pool, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    weights = onnx.TensorProto(name="w", data_type=1, dims=[1], data_location=onnx.TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value="../../etc/passwd")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [1])],
        [onnx.helper.make_tensor_value_info("y", 1, [1])],
        [weights],
    )
    path = tmp_path / "far.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())

    assert _report(path, pool).problem is None


def test_an_input_for_a_file_is_refused(pool: Pool, tmp_path: Path) -> None:
    _exported(tmp_path / "model.pt2")
    (report,) = trace_targets([Request("model.pt2", ("float32[2]",), root=tmp_path)], RULES, pool=pool)

    assert report.problem == "model.pt2: is read and not run, so it takes no --input"
