"""Times modellint, the other linters that are installed, and the floor below them all, over the same trees.

    python benchmarks/run.py TREE [TREE ...] [--rounds 3] [--limit 300] [--json FILE] [--svg FILE]

Every round runs all of them in turn, so that a busy machine is as busy for each. CPU seconds are user and system time
of the process and its children, the median of the rounds; the table, as Markdown, comes on standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLOOR = "import sys; sys.path.insert(0, {here!r}); from floor import {name}; {name}(sys.argv[1])"


@dataclass(frozen=True, slots=True)
class Measured:
    """One contender on one tree: medians of CPU and wall seconds, the highest peak memory in MiB."""

    tree: str
    name: str
    cpu: float
    wall: float
    peak: float
    rounds: int
    complete: bool


def contenders(tree: Path, cache: Path) -> dict[str, list[str]]:
    """Return the command of each contender that is installed; the warm run comes right after the cold one."""
    ours = [sys.executable, "-m", "modellint", "check", "--isolated", "--quiet", "--exit-zero"]
    found = {
        "modellint, cold": [*ours, "--no-cache", "--jobs", "1", str(tree)],
        "modellint, cold, all processors": [*ours, "--no-cache", str(tree)],
        "modellint, warm": [*ours, str(cache)],
        "floor: bytes": [sys.executable, "-c", FLOOR.format(here=str(HERE), name="read"), str(tree)],
        "floor: ast.parse, screened": [sys.executable, "-c", FLOOR.format(here=str(HERE), name="screened"), str(tree)],
        "floor: ast.parse, all": [sys.executable, "-c", FLOOR.format(here=str(HERE), name="parse"), str(tree)],
    }
    peers = {
        "ruff": ["ruff", "check", "--no-cache", "--isolated", "--quiet", "--exit-zero", str(tree)],
        "flake8": ["flake8", "--isolated", "-j1", "--extend-ignore=TOR", "--exit-zero", str(tree)],
        "TorchFix in flake8": ["flake8", "--isolated", "-j1", "--select=TOR", "--exit-zero", str(tree)],
        "pylint -E": ["pylint", "-E", "-j1", "--recursive=y", "--exit-zero", str(tree)],
        "semgrep": ["semgrep", "scan", "--metrics=off", "--quiet", "--config", "p/python", str(tree)],
    }
    return found | {name: command for name, command in peers.items() if shutil.which(command[0])}


def timed(command: Sequence[str], limit: float) -> tuple[float, float, float, bool]:
    """Run `command`; return its CPU and wall seconds, its peak in MiB, and whether it ended within `limit` seconds."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while True:
        pid, _, usage = os.wait4(child.pid, os.WNOHANG)
        wall = time.perf_counter() - started
        if pid:
            return usage.ru_utime + usage.ru_stime, wall, _mebibytes(usage), True
        if wall > limit:
            os.killpg(child.pid, 9)
            _, _, usage = os.wait4(child.pid, 0)
            return usage.ru_utime + usage.ru_stime, wall, _mebibytes(usage), False
        time.sleep(0.002)


def _mebibytes(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def measure(tree: Path, rounds: int, limit: float) -> Iterator[Measured]:
    """Yield every contender's figures on `tree`; one that hits the limit is not run again."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / tree.name  # the cache is written beside the sources: not beside the user's
        shutil.copytree(tree, copy, ignore=shutil.ignore_patterns(".git", ".modellint_cache"))
        commands = contenders(tree, copy)
        timed(commands["modellint, warm"], float("inf"))
        runs: dict[str, list[tuple[float, float, float, bool]]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                if all(run[3] for run in runs[name]):
                    runs[name].append(timed(command, limit))
    for name, done in runs.items():
        cpu, wall = (statistics.median(run[index] for run in done) for index in (0, 1))
        peak = max(run[2] for run in done)
        yield Measured(tree.name, name, cpu, wall, peak, len(done), all(run[3] for run in done))


def table(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of a Markdown table; the ratio is to the cold run of modellint on the same tree."""
    yield "| tree | tool | CPU s | wall s | peak MiB | CPU against modellint, cold |"
    yield "|---|---|---:|---:|---:|---:|"
    base = {m.tree: m.cpu for m in measured if m.name == "modellint, cold"}
    for m in measured:
        more = "" if m.complete else "> "
        ratio = f"{more}{m.cpu / base[m.tree]:.3g}" if base[m.tree] else ""
        yield f"| {m.tree} | {m.name} | {more}{m.cpu:.2f} | {more}{m.wall:.2f} | {m.peak:.0f} | {ratio} |"


def plot(measured: Sequence[Measured]) -> str:
    """Return a bar chart of the CPU seconds as SVG, on a logarithmic axis from a hundredth of a second on."""
    import math

    rows = []
    for number, m in enumerate(measured):
        y, width = 20 * number + 4, max(2.0, 90 * math.log10(max(m.cpu, 0.01) / 0.01))
        color = "#4269d0" if m.name.startswith("modellint") else "#9aa0a6"
        rows.append(f'<text x="4" y="{y + 12}">{m.tree}: {m.name}</text>')
        rows.append(f'<rect x="300" y="{y}" width="{width:.0f}" height="15" fill="{color}"/>')
        rows.append(f'<text x="{306 + width:.0f}" y="{y + 12}">{m.cpu:.2f} s</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="820" height="{20 * len(measured) + 8}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', *rows, "</svg>\n"])


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that one run may take")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    measured = [m for tree in given.trees for m in measure(tree.resolve(), given.rounds, given.limit)]
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, load average {load:.1f} at the start"
    print(f"{given.rounds} rounds in turn, {machine}.\n")
    print("\n".join(table(measured)))
    if given.json:
        given.json.write_text(json.dumps({"load": load, "measured": [asdict(m) for m in measured]}, indent=2) + "\n")
    if given.svg:
        given.svg.write_text(plot(measured))


if __name__ == "__main__":
    main()
