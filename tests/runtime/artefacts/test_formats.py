"""Each reader by itself: the tables that it goes by, and what the two exporters of ONNX write."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.runtime import Pool, Request, trace_targets
from modellint.runtime.artefacts.exported import _DRAWS, _DTYPES
from modellint.runtime.artefacts.onnx_file import _scope

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


def _found(path: Path, pool: Pool) -> dict[str, tuple[str | None, int]]:
    (report,) = trace_targets([Request(str(path), root=path.parent)], RULES, pool=pool)
    assert report.problem is None
    return {d.code: (d.runtime and d.runtime.module_path, d.span.start.row) for d in report.diagnostics}


def test_the_operators_that_draw_are_those_that_torch_tags() -> None:
    tagged, plain = set(), set()
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if namespace != "aten" or packet.startswith(("_", "miopen_")) or packet.endswith("_backward"):
            continue
        found = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
        seeded = torch.Tag.nondeterministic_seeded in getattr(found, "tags", ())
        (tagged if seeded else plain).add(packet.strip("_"))
    assert len(tagged) > 30
    assert not [name for name in tagged if not _DRAWS.fullmatch(name)]
    assert {name for name in plain - tagged if _DRAWS.fullmatch(name)} <= {
        "uniform", "normal", "random", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "gru", "lstm",
        "rnn_tanh", "rnn_relu", "dropout", "scaled_dot_product_attention", "rrelu",
    }  # fmt: skip


def test_the_dtypes_are_those_that_torch_writes() -> None:
    schema = pytest.importorskip("torch._export.serde.schema")
    written = pytest.importorskip("torch._export.serde.serialize")._TORCH_TO_SERIALIZE_DTYPE
    ours = {getattr(torch, name): number for number, name in _DTYPES.items()}

    assert {dtype: int(written[dtype]) for dtype in ours if dtype in written} == ours
    assert int(schema.ScalarType.FLOAT) == 7


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("", ""),
        ("node_drop", ""),
        ("/Dropout", ""),
        ("/drop/Dropout", "drop"),
        ("/blocks.0/drop/Dropout", "blocks.0.drop"),
        ("/seq/seq.1/Dropout", "seq.1"),
    ],
)
def test_the_older_exporter_writes_the_module_into_the_name(name: str, path: str) -> None:
    assert _scope(name) == path


def test_a_file_of_the_older_exporter_names_modules_but_no_lines(pool: Pool, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    path = tmp_path / "old.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (torch.randn(3, 4),),
            str(path),
            dynamo=False,
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=False,
        )
    assert _found(path, pool) == {"ML601": ("2", 1), "ML602": ("1", 1)}


def test_a_frozen_script_is_followed_although_it_has_no_modules(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "frozen.pt"
    torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval())).save(path)

    assert _found(path, pool) == {}


def test_a_script_keeps_the_modes_of_its_modules(pool: Pool, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval()
    model[1].train()
    path = tmp_path / "mixed.pt"
    torch.jit.script(model).save(path)

    assert {code: where[0] for code, where in _found(path, pool).items()} == {"ML601": "1", "ML605": "1"}


def test_a_branch_on_a_flag_is_taken_as_the_flag_stands(pool: Pool, tmp_path: Path) -> None:
    from tests.runtime.artefacts.models import Guarded

    for training, codes in ((False, set()), (True, {"ML601", "ML603"})):
        path = tmp_path / f"guarded_{training}.pt"
        torch.jit.script(Guarded().train(training)).save(path)
        assert set(_found(path, pool)) == codes
