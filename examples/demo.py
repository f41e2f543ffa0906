"""The demonstration: a project with the defects people make, then its corrected twin.

    make demo        (or: python examples/demo.py, in an environment with modellint[trace])

In each project it trains the model, predicts twice, and runs both passes of modellint. Exits with 1 where something
is not as it should be: the defective project must answer differently from run to run and be reported, the corrected
one must answer the same and be silent.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
MODELLINT = str(Path(sys.executable).with_name("modellint"))


def main() -> int:
    """Run both projects; return the exit status."""
    # The models are tiny: more threads only wait for each other, for minutes on a busy machine.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    surprises: list[str] = []
    for name, defective in (("defective", True), ("corrected", False)):
        surprises += demonstrate(EXAMPLES / name, defective)
    for surprise in surprises:
        say(f"UNEXPECTED: {surprise}")
    return 1 if surprises else 0


def demonstrate(project: Path, defective: bool) -> list[str]:
    """Show one project; return what did not turn out as it must."""
    surprises = []
    say(f"=== examples/{project.name}", "")
    run(project, "python", "train.py")
    first, second = run(project, "python", "predict.py"), run(project, "python", "predict.py")
    differ = sum(a != b for a, b in zip(first.splitlines(), second.splitlines(), strict=True))
    say(f"--> {differ} of {len(first.splitlines())} answers changed from one run to the next", "")
    if bool(differ) != defective:
        surprises.append(f"{project.name}: {differ} answers changed")
    for command in ("check", "trace"):
        say(f"$ modellint {command}")
        status = subprocess.run([MODELLINT, command], cwd=project).returncode
        say(f"--> exit status {status}", "")
        if status != int(defective):
            surprises.append(f"{project.name}: modellint {command} exited with {status}")
    return surprises


def run(project: Path, *command: str) -> str:
    """Run a script of `project`, show its output and return it; exit where it fails."""
    say("$ " + " ".join(command))
    result = subprocess.run([sys.executable, *command[1:]], cwd=project, stdout=subprocess.PIPE, text=True)
    say(result.stdout)
    if result.returncode:
        sys.exit(f"{project.name}/{command[1]} exited with {result.returncode}")
    return result.stdout


def say(*lines: str) -> None:
    """Print at once: subprocesses write to the same stream."""
    print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
