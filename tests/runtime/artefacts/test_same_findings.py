"""A model and the files made of it: the same findings at the same lines, or the reason why not.

What differs, as docs/runtime.md says, is the doing of the exporters to ONNX. The newer one turns a batch norm in
training mode into one with running statistics (a note says so), has no attention dropout, and loses the lines inside of
`no_grad`. The older one keeps no lines and, unless told otherwise, exports what the model does in evaluation mode;
beside the model a note says what that took away.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import Confidence, Severity
from modellint.runtime import Pool, Request, TargetReport, trace_targets
from modellint.runtime.artefacts.comparing import differences

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
from tests.runtime.artefacts.models import CASES, make  # noqa: E402

MODELS = Path(__file__).with_name("models.py")
RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
SWITCHED_IN_ONNX, REFUSED_BY_ONNX, WITHOUT_LINE_IN_ONNX = "TrainingNorm", "Attention", "UnderNoGrad"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


def _trace(target: str, pool: Pool, *inputs: str) -> TargetReport:
    (report,) = trace_targets([Request(target, inputs, root=Path.cwd())], RULES, pool=pool)
    assert report.problem is None
    return report


def _found(report: TargetReport) -> set[tuple[str, int, str]]:
    return {
        (diagnostic.code, diagnostic.span.start.row, Path(diagnostic.filename).name)
        for diagnostic in report.diagnostics
        if diagnostic.severity is not Severity.INFO and diagnostic.confidence is not Confidence.POSSIBLE
    }


@pytest.fixture(scope="module")
def factories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("factories")
    targets = {}
    for name in CASES:
        file = folder / f"{name}.py"
        file.write_text(
            f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
            f"from tests.runtime.artefacts.models import make\n\n\ndef build():\n    return make({name!r})\n",
            encoding="utf-8",
        )
        targets[name] = f"{file}:build"
    return targets


@pytest.fixture(scope="module")
def reports(pool: Pool, factories: dict[str, str]) -> dict[str, TargetReport]:
    return {name: _trace(factories[name], pool, spec) for name, spec in CASES.items()}


@pytest.fixture(scope="module")
def eager(reports: dict[str, TargetReport]) -> dict[str, set[tuple[str, int, str]]]:
    return {name: _found(report) for name, report in reports.items()}


def _input(name: str) -> Any:
    shape = [int(size) for size in CASES[name].partition("[")[2][:-1].split(",")]
    return torch.randn(shape)


def _saved(kind: str, name: str, path: Path) -> None:
    model, x = make(name), _input(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "pt2":
            torch.export.save(torch.export.export(model, (x,)), path)
        elif kind == "scripted":
            torch.jit.script(model).save(path)
        elif kind == "traced":
            torch.jit.trace(model, x, check_trace=False).save(path)
        else:
            torch.onnx.export(model, (x,), path, dynamo=True, verbose=False)


SUFFIX = {"pt2": ".pt2", "scripted": ".pt", "traced": ".pt", "onnx": ".onnx"}


def test_the_models_that_are_clean_are_silent_and_the_others_are_not(eager: dict[str, set[Any]]) -> None:
    assert [name for name, found in eager.items() if not found] == ["Clean", "Guarded", "StandardisedWeights"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", SUFFIX)
def test_a_file_has_the_findings_of_its_model(
    kind: str, name: str, eager: dict[str, set[Any]], pool: Pool, tmp_path: Path
) -> None:
    if kind == "onnx":
        pytest.importorskip("onnx")
        pytest.importorskip("onnxscript")
    path = tmp_path / f"model{SUFFIX[kind]}"
    if (kind, name) == ("onnx", REFUSED_BY_ONNX):
        with pytest.raises(Exception, match="scaled_dot_product_attention"):
            _saved(kind, name, path)
        return
    _saved(kind, name, path)
    report = _trace(str(path), pool)

    if (kind, name) == ("onnx", SWITCHED_IN_ONNX):
        assert _found(report) == set()
        assert any("(norm): the file does not compute what the model computed" in note for note in report.notes)
    elif (kind, name) == ("onnx", WITHOUT_LINE_IN_ONNX):
        assert _found(report) == {("ML601", 1, path.name)}
    else:
        assert not report.notes
        assert _found(report) == eager[name]


SWITCHED_OFF = {"Plain": "drop", "TrainingNorm": "norm", "Deep": "blocks.0.drop", "Recurrent": "rnn"}
LOST, REFUSED = "Attention", "Recurrent"


def _older(name: str, path: Path, mode: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(make(name), (_input(name),), path, dynamo=False, training=mode)


def _modules(report: TargetReport) -> set[tuple[str, str | None]]:
    return {
        (diagnostic.code, diagnostic.runtime.module_path if diagnostic.runtime else None)
        for diagnostic in report.diagnostics
        if diagnostic.severity is not Severity.INFO and diagnostic.confidence is not Confidence.POSSIBLE
    }


def _differences(file: TargetReport, model: TargetReport) -> list[str]:
    assert file.trace is not None
    assert model.trace is not None
    return list(differences(file.trace, [model.trace]))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_older_exporter_to_onnx_keeps_what_it_does_not_switch_off(
    name: str, reports: dict[str, TargetReport], pool: Pool, tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    _older(name, path, torch.onnx.TrainingMode.EVAL)
    report = _trace(str(path), pool)

    assert not report.notes
    if name in SWITCHED_OFF or name == LOST:
        assert _modules(report) == set()
        (said,) = _differences(report, reports[name])
        assert SWITCHED_OFF.get(name, "the model itself") in said
        assert said.endswith("the file does not compute what the model computes")
    else:
        assert _differences(report, reports[name]) == []
        assert _modules(report) == _modules(reports[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in (LOST, REFUSED)])
def test_the_older_exporter_told_to_keep_the_mode_keeps_the_findings(
    name: str, reports: dict[str, TargetReport], pool: Pool, tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    _older(name, path, torch.onnx.TrainingMode.PRESERVE)
    report = _trace(str(path), pool)

    assert _differences(report, reports[name]) == []
    assert _modules(report) == _modules(reports[name])


def test_a_file_is_not_compared_with_another_model(
    reports: dict[str, TargetReport], pool: Pool, tmp_path: Path
) -> None:
    path = tmp_path / "model.pt2"
    _saved("pt2", "Clean", path)

    assert _differences(_trace(str(path), pool), reports["TrainingNorm"]) == []


def test_on_the_command_line_the_model_beside_its_file_tells_the_difference(
    factories: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    _older("TrainingNorm", path, torch.onnx.TrainingMode.EVAL)
    arguments = ["trace", "--isolated", factories["TrainingNorm"], str(path), "--input", CASES["TrainingNorm"]]
    done = subprocess.run([sys.executable, "-m", "modellint", *arguments], capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode == 1
    assert "use running statistics here (norm)" in done.stderr
