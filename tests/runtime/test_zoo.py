"""Architectures of timm and types of transformers, each traced as a user would trace it.

In evaluation mode nothing may be reported; in training mode nothing but the consequences of training mode; and one
dropout or batch norm that was switched back must be found by its path.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.diagnostic import Confidence, Severity
from modellint.runtime import Pool, Request, TargetReport, trace_targets

pytestmark = [pytest.mark.torch, pytest.mark.slow]
torch = pytest.importorskip("torch")
HERE = Path(__file__).parent
SEED = 20260101
RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
TRANSFORMERS = (
    "albert", "audio-spectrogram-transformer", "bart", "beit", "bert", "big_bird", "blip", "bloom", "canine", "clip",
    "convbert", "data2vec-text", "deberta-v2", "deit", "dinov2", "distilbert", "electra", "falcon", "fnet", "gemma",
    "gpt2", "gpt_neox", "hubert", "ibert", "llama", "longformer", "m2m_100", "mamba", "mistral", "mpnet", "opt",
    "pegasus", "roformer", "segformer", "squeezebert", "t5", "vit", "wav2vec2", "whisper", "xlnet",
)  # fmt: skip
# One architecture a family, of 60 families, drawn once with random.Random(SEED) among those of at most 32 million
# parameters and 256 pixels.
TIMM = (
    "coat_mini", "coatnet_nano_cc_224", "convformer_s18", "convit_small", "convmixer_1024_20_ks9_p14",
    "convnextv2_atto", "crossvit_15_240", "cspnext_tiny", "davit_tiny", "deit_small_patch16_224", "densenet121",
    "dla60x_c", "edgenext_xx_small", "efficientformer_l3", "efficientformerv2_s1", "efficientvim_m2_dist",
    "efficientvit_b2", "efficientvit_m1", "fasternet_s", "fastvit_mci1", "fbnetv3_d", "focalnet_tiny_lrf",
    "gcresnext50ts", "gcvit_tiny", "ghostnetv3_160", "hgnetv2_b2", "hiera_tiny_224", "hrnet_w18_small_v2",
    "iformer_t", "inception_next_atto", "lambda_resnet26t", "legacy_seresnet34", "levit_conv_256",
    "lowformer_e2", "mvitv2_tiny", "nextvit_small", "pvt_v2_b2", "rdnet_tiny", "regnetz_005", "repghostnet_100",
    "repvit_m2", "resnest50d_1s4x24d", "resnetv2_18d", "rexnet_200", "sequencer2d_s", "seresnet34", "shvit_s1",
    "starnet_s1", "swin_s3_tiny_224", "swinv2_tiny_window16_256", "test_mambaout", "tf_mixnet_l",
    "tnt_s_legacy_patch16_224", "tresnet_m", "twins_pcpvt_small", "visformer_tiny",
    "vit_relpos_small_patch16_rpn_224", "vit_tiny_r_s16_p8_224", "vitamin_small_224", "volo_d1_224",
)  # fmt: skip
try:
    import tests.runtime.zoo_libraries  # noqa: F401
except ImportError as error:
    pytest.skip(f"{error}: install the dependency group zoo", allow_module_level=True)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        with Pool(preload=("zoo_libraries",)) as pool:
            pool.start()
            yield pool


TIMM_FILE = """
import random

import timm
from torch import nn


def clean():
    return timm.create_model({name!r}, pretrained=False).eval()


def training():
    return timm.create_model({name!r}, pretrained=False)


def planted():
    model = clean()
    parts = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if parts:
        random.Random({seed}).choice(parts).train()
    return model
"""
TRANSFORMERS_FILE = """
from zoo_transformers import small


def clean():
    return small({name!r}).eval()


def training():
    return small({name!r})
"""


def _trace(pool: Pool, folder: Path, text: str, factory: str) -> TargetReport:
    (folder / "zoo_model.py").write_text(text, encoding="utf-8")
    (report,) = trace_targets([Request(f"zoo_model.py:{factory}", root=folder, timeout=300)], RULES, pool=pool)
    assert report.problem is None
    assert report.trace is not None
    assert report.trace.level() == "record"
    assert any("own configuration" in note for note in report.notes)
    return report


def _alarms(report: TargetReport) -> list[str]:
    return [
        f"{diagnostic.code} {diagnostic.filename}:{diagnostic.span.start.row} {diagnostic.message}"
        for diagnostic in report.diagnostics
        if diagnostic.severity is not Severity.INFO and diagnostic.confidence is not Confidence.POSSIBLE
    ]


def _check_training(report: TargetReport) -> None:
    alarms = _alarms(report)
    assert not [alarm for alarm in alarms if alarm[:5] not in ("ML601", "ML602", "ML603")]
    for diagnostic in report.diagnostics:
        lines = Path(diagnostic.filename).read_text(encoding="utf-8").splitlines()
        assert lines[diagnostic.span.start.row - 1].strip()
        assert Path(torch.__file__).parent not in Path(diagnostic.filename).parents
    live = {op.module for op in report.trace.ops if op.live and op.within is None} if report.trace else set()
    if live:
        assert any(alarm.startswith(("ML601", "ML603")) for alarm in alarms)


@pytest.mark.parametrize("name", TIMM)
def test_timm_in_evaluation_mode_is_silent(name: str, pool: Pool, tmp_path: Path) -> None:
    assert _alarms(_trace(pool, tmp_path, TIMM_FILE.format(name=name, seed=SEED), "clean")) == []


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_in_evaluation_mode_are_silent(name: str, pool: Pool, tmp_path: Path) -> None:
    assert _alarms(_trace(pool, tmp_path, TRANSFORMERS_FILE.format(name=name), "clean")) == []


@pytest.mark.parametrize("name", TIMM[::3])
def test_timm_in_training_mode_reports_training_mode_only(name: str, pool: Pool, tmp_path: Path) -> None:
    _check_training(_trace(pool, tmp_path, TIMM_FILE.format(name=name, seed=SEED), "training"))


@pytest.mark.parametrize("name", TRANSFORMERS[::2])
def test_transformers_in_training_mode_report_training_mode_only(name: str, pool: Pool, tmp_path: Path) -> None:
    _check_training(_trace(pool, tmp_path, TRANSFORMERS_FILE.format(name=name), "training"))


@pytest.mark.parametrize("name", TIMM[1::3])
def test_one_batch_norm_switched_back_is_found_and_nothing_else(name: str, pool: Pool, tmp_path: Path) -> None:
    report = _trace(pool, tmp_path, TIMM_FILE.format(name=name, seed=SEED), "planted")

    assert report.trace is not None
    culprit = min((fact.path for fact in report.trace.modules if fact.training), key=len, default=None)
    if culprit is None:
        assert _alarms(report) == []
        return
    found = {d.code: d.runtime.module_path for d in report.diagnostics if d.runtime and d.severity != Severity.INFO}
    assert found == {"ML602": culprit, "ML605": culprit}
