"""Two processes find what one finds, and leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from modellint.diagnostic import to_dict
from modellint.linting import check_paths, cores, running
from modellint.linting.store import FOLDER
from modellint.settings import Overrides, Resolver
from modellint.static.project import facts, parsed_files, scanning

MODEL = """\
import torch
from torch import nn

class Net{n}(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(x)
"""
PREDICT = """\
import torch
from net{n} import Net{n}
from net0 import Net0

def predict(path, x):
    net, other = Net{n}(), Net0()
    net.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return net(x)
"""
RIGHT = PREDICT.replace("    with torch", "    net.eval()\n    with torch")
RUST = 'use burn::tensor::Tensor;\n\nfn main() {\n    println!("{}", 1);\n}\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(running, "_WORTH", 1)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    for n in range(4):
        (tmp_path / f"net{n}.py").write_text(MODEL.format(n=n))
        (tmp_path / f"predict{n}.py").write_text(PREDICT.format(n=n))
        (tmp_path / f"right{n}.py").write_text(RIGHT.format(n=n))
    (tmp_path / "broken.py").write_text("import torch\nmodel.eval(\n")
    (tmp_path / "calm.py").write_text("import json\n")
    (tmp_path / "main.rs").write_text(RUST)
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - 1000,) * 2)
    return tmp_path


def found(project: Path, jobs: int, cache: bool = False, fixes: bool = False) -> str:
    reports = check_paths([project], Resolver(Overrides()), jobs=jobs, cache=cache, fixes=fixes)
    told = [
        ([to_dict(d) for d in report.diagnostics], report.errors, report.notes, str(report.path)) for report in reports
    ]
    return json.dumps(told)


@pytest.mark.parametrize("jobs", [2, 3])
@pytest.mark.parametrize("fixes", [False, True])
def test_the_same_findings_in_the_same_order(project: Path, jobs: int, fixes: bool) -> None:
    alone = found(project, 1, fixes=fixes)
    assert alone.count("ML101") >= 4
    assert alone.count("ML002") == 1
    assert found(project, jobs, fixes=fixes) == alone


def test_where_processes_cannot_be_forked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = found(project, 1)
    monkeypatch.setattr(cores, "_can_fork", lambda: False)
    assert found(project, 2) == alone


def test_a_small_run_stays_in_this_process(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_WORTH", 1_000_000)
    monkeypatch.setattr(cores.Team, "reports", lambda self: pytest.fail("a process for nothing"))
    found(project, 2)


def test_no_shared_module_is_scanned_twice(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "log"
    monkeypatch.setattr(cores, "_can_fork", lambda: True)

    def scan(path: Path, *rest: object) -> facts.ModuleInfo:
        with log.open("a") as stream:  # processes append
            stream.write(f"{path.name}\n")
        return scanning.scan(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(parsed_files, "scan", scan)
    found(project, 2)
    seen = Counter(log.read_text().split())
    assert seen["net0.py"] == 1
    assert set(seen.values()) == {1}


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_record_of_several_processes_holds_for_one(project: Path, jobs: int) -> None:
    alone = found(project, 1)
    assert found(project, 2, cache=True) == alone
    records = [json.loads(record.read_text()) for record in (project / FOLDER).glob("*.json")]
    assert sorted(len(record["findings"]) for record in records) == [1, 14]  # of Rust and of Python
    assert found(project, jobs, cache=True) == alone
    (project / "net1.py").write_text(MODEL.format(n=1).replace("nn.Dropout()", "nn.Identity()"))
    changed = found(project, 1)
    assert changed != alone
    assert found(project, jobs, cache=True) == changed


def test_reports_of_a_process_that_is_killed_before_it_tells_what_it_read_are_not_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = found(project, 1)
    monkeypatch.setattr(cores, "_can_fork", lambda: True)
    monkeypatch.setattr(cores, "take_notes", lambda *rest: os.kill(os.getpid(), signal.SIGKILL))
    assert found(project, 2, cache=True) == alone
    assert not list((project / FOLDER).glob("*.json"))


def test_what_a_killed_process_had_taken_is_checked_all_the_same(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = found(project, 1)
    monkeypatch.setattr(cores, "_can_fork", lambda: True)
    monkeypatch.setattr(cores, "_work", lambda end, *rest: os.kill(os.getpid(), signal.SIGKILL))
    assert found(project, 2) == alone


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_interruption_leaves_nothing_behind(project: Path) -> None:
    program = (
        "import os, sys, time, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background shell ignores it
        "from modellint.linting import engine, running\n"
        "running._WORTH = 1\n"
        "def slow(self, *rest):\n"
        "    os.write(1, b'busy\\n')\n"  # in one piece: two processes write
        "    time.sleep(600)\n"
        "engine.Engine.check = slow\n"
        "from modellint.cli import main\n"
        "main(['check', '--no-cache', '--jobs', '2', sys.argv[1]])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(project)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "busy\n"
    assert process.stdout.readline() == "busy\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, complaint = process.communicate(timeout=120)
    assert process.returncode == 130
    assert complaint == ""
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
