from __future__ import annotations

import subprocess
import sys


def test_python_m_modellint_is_the_command() -> None:
    command = [sys.executable, "-m", "modellint", "version"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.startswith("modellint ")
