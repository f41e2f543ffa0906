"""The demonstration: the corrected project is silent, the defective one is reported where it is wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from modellint.catalog import load_rules

ROOT = Path(__file__).resolve().parent.parent
MODELLINT = str(Path(sys.executable).with_name("modellint"))

# Every defect planted in examples/defective, by file. A rule that the catalogue does not have yet is left out
# of the comparison; from the day it is added, it has to find what is planted for it.
STATIC = {
    "bearings/anomaly.py": {"ML104", "ML108"},
    "bearings/blocks.py": {"ML104", "ML107", "ML110"},
    "bearings/model.py": {"ML105", "ML106"},
    "evaluate.py": {"ML101", "ML102", "ML201", "ML203", "ML403"},
    "predict.py": {"ML101", "ML201", "ML403"},
    "service.py": {"ML201", "ML403"},
    "train.py": {"ML101"},
}
RUNTIME = {
    "bearings/anomaly.py": {"ML601", "ML603"},
    "bearings/blocks.py": {"ML601", "ML602"},
    "bearings/model.py": {"ML601", "ML605", "ML606"},
}


def pairs(table: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Return (file, code) for every planted defect whose rule exists and is on by default."""
    rules = load_rules()
    return {(f, code) for f, codes in table.items() for code in codes if code in rules and rules[code].enabled}


def findings(project: Path, command: str) -> tuple[int, set[tuple[str, str]]]:
    """Run a pass in `project`; return its exit status and the (file, code) of its findings, infos included."""
    result = subprocess.run(
        [MODELLINT, command, "--output-format", "json"], cwd=project, capture_output=True, text=True
    )
    found = json.loads(result.stdout)
    return result.returncode, {(Path(item["filename"]).relative_to(project).as_posix(), item["code"]) for item in found}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of examples/, so that nothing is written into the checkout."""
    copy = tmp_path_factory.mktemp("copy").resolve() / "examples"
    shutil.copytree(ROOT / "examples", copy, ignore=shutil.ignore_patterns("artifacts", "__pycache__"))
    return copy


@pytest.fixture(scope="module")
def demo(examples: Path) -> str:
    """Return what the demonstration prints; it fails where the projects do not behave as they must."""
    pytest.importorskip("torch")
    result = subprocess.run([sys.executable, str(examples / "demo.py")], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_corrected_project_is_silent(examples: Path) -> None:
    assert findings(examples / "corrected", "check") == (0, set())


def test_the_static_pass_finds_every_planted_defect_and_nothing_else(examples: Path) -> None:
    assert findings(examples / "defective", "check") == (1, pairs(STATIC))


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.xdist_group("demo")  # one worker, one run of the demonstration
class TestRunning:
    """Needs torch: trains both projects once, through the demonstration itself."""

    @pytest.mark.usefixtures("demo")
    def test_the_corrected_models_are_silent(self, examples: Path) -> None:
        assert findings(examples / "corrected", "trace") == (0, set())

    @pytest.mark.usefixtures("demo")
    def test_the_runtime_pass_finds_every_planted_defect_and_nothing_else(self, examples: Path) -> None:
        assert findings(examples / "defective", "trace") == (1, pairs(RUNTIME))

    @pytest.mark.usefixtures("demo")
    @pytest.mark.parametrize("project", ["corrected", "defective"])
    def test_the_other_scripts_run(self, examples: Path, project: str) -> None:
        """evaluate.py and service.py are no part of the demonstration, but have to work."""
        folder = examples / project
        shares = run(folder, "evaluate.py").splitlines()
        assert len(shares) == 4
        if project == "corrected":
            assert min(float(line.split()[-1]) for line in shares) > 0.7, "the model has learned something"
        signal = json.dumps([0.01 * (index % 50) for index in range(1024)])
        answers = [json.loads(line) for line in run(folder, "service.py", f"{signal}\n{signal}\n").splitlines()]
        assert [set(answer) for answer in answers] == [{"fault", "strangeness"}] * 2

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 a frame knows its line, not its column")
    def test_the_readme_shows_what_the_demonstration_prints(self, demo: str) -> None:
        readme = (ROOT / "README.md").read_text("utf-8")
        (shown,) = re.findall(r"<!-- begin demo -->\n```console\n\$ make demo\n(.*?)\n```", readme, re.DOTALL)
        assert without_measurements(shown) == without_measurements(demo.rstrip()), "run `make docs DEMO=1`"


def run(folder: Path, script: str, stdin: str = "") -> str:
    """Run a script of a project and return what it prints."""
    command = [sys.executable, script]
    result = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, check=True)
    return result.stdout


def without_measurements(text: str) -> str:
    """Blank what differs between runs and machines: accuracies, predictions, durations."""
    text = re.sub(r"accuracy \d\.\d+", "accuracy #", text)
    text = re.sub(r"(recording \d+: ).*", r"\1#", text)
    text = re.sub(r"--> [1-9]\d* of", "--> # of", text)
    return re.sub(r"\d+\.\d+ ?s\b", "# s", text)
