"""A model and the files made of it: the same findings at the same lines, or the reason why not.

What differs, as docs/runtime.md says, is the doing of the exporter to ONNX: it turns a batch norm in training mode into
one with running statistics (a note says so), has no attention dropout, and loses the lines inside of `no_grad`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import Confidence, Severity
from modellint.runtime import Pool, Request, TargetReport, trace_targets

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
def eager(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[tuple[str, int, str]]]:
    found = {}
    for name, spec in CASES.items():
        file = tmp_path_factory.mktemp(name) / "factory.py"
        file.write_text(
            f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
            f"from tests.runtime.artefacts.models import make\n\n\ndef build():\n    return make({name!r})\n",
            encoding="utf-8",
        )
        found[name] = _found(_trace(f"{file}:build", pool, spec))
    return found


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
