"""Architectures of timm and types of transformers in evaluation mode: no probe may raise an alarm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.runtime import Pool, Request, trace_targets
from modellint.runtime.probes.names import parse_probes
from modellint.runtime.probes.result import PASSED, VACUOUS
from tests.runtime.test_zoo import TIMM, TRANSFORMERS

pytestmark = [pytest.mark.torch, pytest.mark.slow]
pytest.importorskip("torch")
RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.family == "probe"}
SILENT = {"hiera_tiny_224", "sequencer2d_s"}
"""Architectures that answer nothing but zeros until they are trained, so that no neighbour could be seen in it."""
LEAKS = {"canine", "convbert"}
"""Types whose padding does change the answer: convolutions that look under the mask."""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        with Pool(preload=("zoo_libraries",)) as pool:
            pool.start()
            yield pool


def _trace(build: str, probes: str, pool: Pool, folder: Path) -> tuple[dict[str, str], list[str]]:
    (folder / "zoo.py").write_text(build, encoding="utf-8")
    request = Request("zoo.py:build", root=folder, timeout=900, probes=parse_probes(probes), quick=True)
    (report,) = trace_targets([request], RULES, pool=pool)
    assert report.trace is not None, report.problem
    return {r.probe: r.verdict for r in report.trace.probes}, [d.code for d in report.diagnostics]


@pytest.mark.parametrize("name", TIMM)
def test_an_architecture_of_timm_raises_no_alarm(name: str, pool: Pool, tmp_path: Path) -> None:
    build = f"import zoo_libraries, timm\ndef build():\n    return timm.create_model({name!r}).eval()\n"

    verdicts, codes = _trace(build, "default,layout", pool, tmp_path)

    assert codes == []
    assert verdicts["neighbours"] == (VACUOUS if name in SILENT else PASSED)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_type_of_transformers_raises_no_alarm_but_for_its_padding(name: str, pool: Pool, tmp_path: Path) -> None:
    build = f"from zoo_transformers import small\ndef build():\n    return small({name!r}).eval()\n"

    _, codes = _trace(build, "default,layout,padding", pool, tmp_path)

    assert codes == (["ML707"] if name in LEAKS else [])
