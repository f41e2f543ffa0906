"""What the default probes cost a cold process: `python benchmarks/probe_cost.py`, a row of docs/probes.md per model.

All in seconds of processor time on one thread, children included, the least of some runs: importing what the model
needs, 15 forwards, and `modellint trace --probe default` as a whole. What is left over is to stay below 0.5 s.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""
_MODELS = {
    "a perceptron": (
        "float32[4,64]",
        """
        import torch
        from torch import nn


        def build():
            return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10)).eval()
        """,
    ),
    "12 layers of a transformer": (
        "float32[2,64,256]",
        """
        import torch
        from torch import nn


        def build():
            layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
            return nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval()
        """,
    ),
    "40 convolutions of images": (
        "float32[2,3,64,64]",
        """
        import torch
        from torch import nn


        def build():
            parts = [nn.Conv2d(3, 64, 3, padding=1)]
            for _ in range(39):
                parts += [nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1)]
            return nn.Sequential(*parts).eval()
        """,
    ),
}
_FORWARDS = """
import resource
import sys
import torch
from net import build

with torch.inference_mode():
    model, x = build(), torch.randn({shape})
    model(x)
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(15):
        model(x)
    after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    print("| model | import | 15 forwards | `trace` | `trace --probe default` | beyond import and forwards |")
    print("|---|---|---|---|---|---|")
    for name, (spec, text) in _MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "net.py").write_text(textwrap.dedent(text), encoding="utf-8")
            shape = spec.partition("[")[2].rstrip("]")
            trace = ["-m", "modellint", "trace", "--isolated", "net.py:build", "--input", spec]
            imported, traced, probed, forwards = [], [], [], []
            for _ in range(runs):
                imported.append(_seconds(folder, ["-c", "import net, torch.fx, numpy"]))
                forwards.append(float(_run(folder, ["-c", _FORWARDS.format(shape=shape)])))
                traced.append(_seconds(folder, trace))
                probed.append(_seconds(folder, [*trace, "--probe", "default"]))
        least = [min(times) for times in (imported, forwards, traced, probed)]
        cells = " | ".join(f"{value:.2f} s" for value in [*least, least[3] - least[0] - least[1]])
        print(f"| {name} | {cells} |", flush=True)


def _seconds(folder: str, arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(folder, arguments)
    with contextlib.suppress(ChildProcessError):
        while True:  # a worker that outlives the server that started it is ours
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(folder: str, arguments: list[str]) -> str:
    path = os.pathsep.join(filter(None, (folder, str(Path(__file__).resolve().parents[1]))))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
