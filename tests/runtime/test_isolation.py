"""A model that misbehaves, in the middle of five good ones: five results and one ML003."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, load_rules
from modellint.runtime import Pool, Request, TargetReport, trace_targets

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

RULES = {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}
GOOD = """
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5)


def build():
    return Net().eval()
"""
IN_FORWARD = """
import ctypes, os, socket, subprocess, sys, threading, time
from pathlib import Path

import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        {body}
        return x


def build():
    return Net().eval()
"""


@pytest.fixture(scope="module", autouse=True)
def shared() -> Iterator[Pool]:
    global _shared
    with Pool() as _shared:
        yield _shared


_shared: Pool | None = None


def _trace(tmp_path: Path, body: str, *, pool: Pool | None = None, **options: object) -> list[TargetReport]:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(IN_FORWARD.format(body=body))
    names = ["good", "good", "bad", "good", "good", "good"]
    requests = [
        Request(f"{name}.py:build", ("float32[2,4]",), root=tmp_path, **{"timeout": 60.0, **options})  # type: ignore[arg-type]
        for name in names
    ]
    return list(trace_targets(requests, RULES, jobs=2, pool=pool or _shared))


def _check(reports: list[TargetReport], *words: str) -> None:
    good, bad = [r for r in reports if "good" in r.request.target], reports[2]
    assert [[d.code for d in report.diagnostics] for report in good] == [["ML601"]] * 5
    assert [d.code for d in bad.diagnostics] == ["ML003"]
    assert bad.problem is not None
    assert "\n" not in bad.problem
    assert Path(bad.diagnostics[0].filename).name == "bad.py"
    for word in words:
        assert word in bad.problem


def test_a_model_that_prints_starts_threads_and_forks_well_disturbs_nothing(tmp_path: Path) -> None:
    body = (
        "print('{\"trace\": 1}'); os.write(1, b'x' * 300_000); os.write(2, b'y' * 300_000)\n"
        "        subprocess.run([sys.executable, '-c', 'print(1)'], check=True)\n"
        "        threading.Thread(target=time.sleep, args=(0.1,)).start()"
    )

    reports = _trace(tmp_path, body)

    assert [d.code for report in reports for d in report.diagnostics] == ["ML601"] * 5
    assert all(report.problem is None for report in reports)


def test_hangs(tmp_path: Path) -> None:
    started = time.monotonic()

    reports = _trace(tmp_path, "time.sleep(1000)", timeout=4.0)

    _check(reports, "no answer within 4 s", "--timeout")
    assert time.monotonic() - started < 40


def test_hangs_in_c_code_that_ignores_signals(tmp_path: Path) -> None:
    body = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        ctypes.CDLL(None).pause()"
    _check(_trace(tmp_path, body, timeout=4.0), "no answer within 4 s")


def test_ends_the_process(tmp_path: Path) -> None:
    _check(_trace(tmp_path, "os._exit(7)"), "exit status 7")


def test_ends_the_process_with_status_zero(tmp_path: Path) -> None:
    _check(_trace(tmp_path, "os._exit(0)"), "exit status 0")


def test_calls_sys_exit(tmp_path: Path) -> None:
    _check(_trace(tmp_path, "sys.exit('done')"), "sys.exit('done')")


def test_crashes_the_interpreter(tmp_path: Path) -> None:
    _check(_trace(tmp_path, "print('last words', flush=True); ctypes.string_at(0)"), "SIGSEGV", "last words")


def test_aborts(tmp_path: Path) -> None:
    _check(_trace(tmp_path, "os.abort()"), "SIGABRT")


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on memory on this system")
def test_allocates_without_end(tmp_path: Path) -> None:
    body = "kept = []\n        while True: kept.append(torch.ones(2**24))"
    _check(_trace(tmp_path, body, memory=2000), "memory")


def test_raises_something_that_is_no_exception(tmp_path: Path) -> None:
    _check(_trace(tmp_path, "raise BaseException('odd')"), "BaseException: odd")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_and_the_second_process_comes_back_to_us(tmp_path: Path) -> None:
    reports = _trace(tmp_path, "os.fork()")

    assert [d.code for report in reports for d in report.diagnostics] == ["ML601"] * 5
    assert reports[2].problem is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_what_a_model_leaves_running_is_ended(tmp_path: Path) -> None:
    body = "Path('pid').write_text(str(subprocess.Popen(['sleep', '1000']).pid))"

    _trace(tmp_path, body)

    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _runs(pid):
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True
    return state != "Z"


def _network_can_be_cut() -> bool:
    from modellint.runtime.process.limits import cut_network

    if not hasattr(os, "fork"):
        return False
    pid = os.fork()
    if pid == 0:
        os._exit(0 if cut_network() else 1)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the network can be cut on Linux only")
def test_opens_a_connection(tmp_path: Path) -> None:
    if not _network_can_be_cut():
        pytest.skip("this system allows no network namespaces")
    _check(_trace(tmp_path, "socket.create_connection(('192.0.2.1', 80), timeout=20)"), "--network")


@pytest.mark.skipif(sys.platform != "linux", reason="the network can be cut on Linux only")
def test_talks_to_itself_while_the_network_is_cut(tmp_path: Path) -> None:
    body = (
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "        socket.create_connection(server.getsockname(), timeout=5).close()"
    )

    reports = _trace(tmp_path, body)

    assert all(report.problem is None for report in reports)


def test_without_a_fork_server_the_answers_are_the_same(tmp_path: Path) -> None:
    with Pool(fork=False) as pool:
        _check(_trace(tmp_path, "print('text'); os._exit(7)", pool=pool), "exit status 7")


def test_a_warm_worker_answers_quickly(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    request = Request("good.py:build", ("float32[2,4]",), root=tmp_path)
    seconds = [math.inf]
    with Pool() as pool:
        pool.start()
        for _ in range(20):  # the other tests run at the same time: one answer in a quiet moment will do
            started = time.monotonic()
            list(trace_targets([request], RULES, pool=pool))
            seconds.append(time.monotonic() - started)
            if seconds[-1] < 0.5:
                break

    assert min(seconds) < 0.5


def test_the_order_of_the_reports_is_that_of_the_requests(tmp_path: Path) -> None:
    reports = _trace(tmp_path, "time.sleep(1)")

    assert [report.request.target for report in reports] == [
        f"{name}.py:build" for name in ("good", "good", "bad", "good", "good", "good")
    ]


@pytest.mark.parametrize("fork", [True, False])
def test_a_caller_that_has_had_enough_does_not_wait_for_a_model_that_hangs(fork: bool, tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(IN_FORWARD.format(body="time.sleep(1000)"))
    requests = [Request(f"{name}.py:build", ("float32[2,4]",), root=tmp_path) for name in ("good", "bad")]
    with Pool(fork=fork) as pool:
        reports = trace_targets(requests, RULES, jobs=2, pool=pool)
        assert next(reports).problem is None
        started = time.monotonic()
        reports.close()  # type: ignore[attr-defined]

    assert time.monotonic() - started < 10


PROBED = """
import time
from torch import nn
class Slow(nn.Module):
    calls = 0
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        Slow.calls += 1
        if Slow.calls > 6:
            time.sleep(60)
        return self.fc(x)
def build():
    return Slow().eval()
"""


def test_what_the_probes_found_before_the_time_was_up_is_kept(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(PROBED)
    started: list[str] = []
    request = Request(
        "slow.py:build", ("float32[2,4]",), root=tmp_path, timeout=20, probes=("repeat", "neighbours"), quick=True
    )

    (report,) = trace_targets([request], RULES, listener=lambda part: started.append(part.get("part", "")))

    assert report.trace is not None
    assert [(result.probe, result.verdict) for result in report.trace.probes] == [
        ("repeat", "passed"),
        ("neighbours", "skipped"),
    ]
    assert report.problem is not None and "in the middle of the probes" in report.problem
    assert started.count("starting") == 2
