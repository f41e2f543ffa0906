"""`modellint check`: options, exit status, bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from modellint.report import formats
from tests.cli.conftest import DEFECT, Run

INFO = """\
import torch
from torch import nn

class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

def main(x):
    net = Line()
    net.load_state_dict(torch.load("line.pt", weights_only=True))
    with torch.no_grad():
        return net(x).argmax(-1)
"""


class TestExitStatus:
    def test_clean(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text("import torch\n")
        assert run("check").status == 0

    def test_an_info_never_counts(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(INFO)
        outcome = run("check")
        assert (outcome.status, "info[ML101]" in outcome.out) == (0, True)

    def test_a_warning_does_not_count_when_only_errors_do(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text("import math  # modellint: ignore[ML101]\n")
        assert run("check").status == 1
        assert run("check", "--fail-on", "error").status == 0

    def test_findings(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        assert run("check").status == 1
        assert run("check", "--exit-zero").status == 0

    def test_hidden_findings_do_not_count(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text("import torch\n\nstate = torch.load('a.pt')\n")
        assert run("check").status == 1, "it is likely"
        assert run("check", "--min-confidence", "certain").status == 0

    def test_each_folder_says_what_counts(self, run: Run, project: Path) -> None:
        (project / "strict").mkdir()
        for folder, floor in ((project, "error"), (project / "strict", "warning")):
            (folder / "a.py").write_text("import math  # modellint: ignore[ML101]\n")
            (folder / ".modellint.yaml").write_text(f"fail-on: {floor}\n")
        assert run("check", "a.py").status == 0
        assert run("check").status == 1

    def test_trouble_beats_findings_and_exit_zero(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        outcome = run("check", "a.py", "gone.py", "--exit-zero")
        assert (outcome.status, outcome.err) == (2, "modellint: gone.py: does not exist\n")
        assert "ML101" in outcome.out


class TestOptions:
    def test_select_and_ignore(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        assert run("check", "--select", "ML2").status == 0
        assert run("check", "--select", "ML2,ML1").status == 1
        assert run("check", "--select", "ML2", "--select", "missing-eval").status == 1
        assert run("check", "--select", "ML2", "--extend-select", "mode").status == 1
        assert run("check", "--ignore", "ML101").status == 0

    def test_the_configuration_and_its_absence(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        (project / ".modellint.yaml").write_text("ignore: [ML101]\n")
        (project / "other.yaml").write_text("rules: {ML101: info}\n")
        assert run("check").status == 0
        assert run("check", "--isolated").status == 1
        assert "info[ML101]" in run("check", "--config", "other.yaml").out
        assert "exclude each other" in run("check", "--isolated", "--config", "other.yaml").err

    def test_standard_input(self, run: Run, project: Path) -> None:
        (project / "pyproject.toml").write_text("[tool.modellint.per-file-ignores]\n'tests/*' = ['ML1']\n")
        outcome = run("check", "-", "--output-format", "json", stdin=DEFECT.encode())
        assert outcome.status == 1
        assert json.loads(outcome.out)[0]["filename"] == str(project / "stdin.py")
        assert run("check", "--stdin-filename", "tests/a.py", "-", stdin=DEFECT.encode()).status == 0

    def test_standard_input_may_be_a_notebook(self, run: Run) -> None:
        cells = [{"cell_type": "code", "source": cell} for cell in ("!ls", DEFECT)]
        data = json.dumps({"cells": cells, "metadata": {}}).encode()
        outcome = run("check", "--stdin-filename", "a.ipynb", "-", stdin=data)
        assert outcome.out.startswith("a.ipynb:cell 2:8:16: error[ML101]")
        assert " 8 |         return model(image)" in outcome.out

    def test_cells_of_text_count_in_a_notebook(self, run: Run, project: Path) -> None:
        texts = ("# Title", "!ls", "# Text", DEFECT)
        cells = [{"cell_type": "markdown" if text.startswith("#") else "code", "source": text} for text in texts]
        (project / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
        assert run("check").out.startswith("a.ipynb:cell 4:8:16: error[ML101]")
        [found] = json.loads(run("check", "--output-format", "json").out)
        assert cells[found["cell"] - 1]["source"] == DEFECT
        assert {place["cell"] for place in found["related"]} == {4}
        assert all(place["message"].endswith("(cell 4)") for place in found["related"])

    def test_an_output_file(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        outcome = run("check", "--no-cache", "--output-format", "json", "--output-file", "found.json")
        assert (outcome.status, outcome.out, outcome.err) == (1, "", "")
        assert json.loads((project / "found.json").read_text())[0]["code"] == "ML101"
        assert sorted(path.name for path in project.iterdir()) == ["a.py", "found.json"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a system with named pipes")
    def test_a_device_is_written_to_and_never_replaced(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        pipe = project / "pipe"
        os.mkfifo(pipe)
        with ThreadPoolExecutor() as pool:
            reading = pool.submit(pipe.read_text)
            run("check", "--no-cache", "--output-format", "json", "--output-file", "pipe")
            assert json.loads(reading.result(timeout=30))[0]["code"] == "ML101"
        assert pipe.is_fifo()

    def test_a_link_keeps_leading_to_its_file(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        (project / "real.json").write_text("")
        (project / "link.json").symlink_to("real.json")
        run("check", "--no-cache", "--output-format", "json", "--output-file", "link.json")
        assert (project / "link.json").is_symlink()
        assert json.loads((project / "real.json").read_text())[0]["code"] == "ML101"

    def test_statistics(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT + "import math  # modellint: ignore[ML201]\n")
        (project / "b.py").write_text(DEFECT)
        assert run("check", "--statistics").out == "2  ML101  missing-eval\n1  ML001  unused-suppression\n"
        assert json.loads(run("check", "--statistics", "--output-format", "json").out)[0] == {
            "code": "ML101",
            "name": "missing-eval",
            "count": 2,
        }

    def test_quiet(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text("import torch\n")
        assert run("check", "--quiet").out == ""
        assert run("check").out == "No findings in 1 file.\n"

    def test_the_cache_may_be_declined(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text("")
        assert run("check", "--no-cache").status == 0

    def test_excluded_files_stay_out_when_hooks_name_them(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        (project / ".modellint.yaml").write_text("exclude: [a.py]\n")
        assert run("check", "a.py").status == 1
        assert run("check", "--force-exclude", "a.py").status == 0

    def test_colour(self, run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / "a.py").write_text(DEFECT)
        assert "\x1b[" not in run("check").out
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "\x1b[" in run("check").out
        assert "\x1b[" not in run("check", "--output-format", "github").out
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[" not in run("check").out

    def test_the_summary_names_the_formats(self, run: Run) -> None:
        helped = " ".join(run("check", "--help").out.split())
        assert "[text|github|json|lsp|sarif]" in helped


class TestBadInput:
    """One line each, status 2, never a traceback."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["check", "gone.py"], "gone.py: does not exist"),
            (["check", "--select", "ML2o4"], "--select: 'ML2o4' means no rule; did you mean 'ML204'?"),
            (["check", "--ignore", "missing-evel"], "--ignore: 'missing-evel' means no rule; did you mean"),
            (["check", "--extend-select", "ML9"], "--extend-select: 'ML9' means no rule"),
            (["check", "--select", ""], "Invalid value for '--select': expected at least one rule"),
            (["check", "--select"], "Option '--select' requires an argument."),
            (["check", "--slect", "ML1"], "No such option"),
            (["check", "--output-format", "xml"], "Invalid value for '--output-format': 'xml' is not one of"),
            (["check", "--fail-on", "info"], "Invalid value for '--fail-on': 'info' is not one of"),
            (["check", "--config", "gone.yaml"], "{project}/gone.yaml:1: cannot be read: No such file or directory"),
            (["check", "-", "a.py"], "`-` stands alone"),
            (["check", "--stdin-filename", "a.py"], "--stdin-filename goes with `-` as the path"),
            (["check", "a.py", "--output-file", "gone/x"], "gone/x: cannot be written: No such file or directory"),
            (["chek"], "no command 'chek'; did you mean 'check'?"),
            (["rule", "missing-evel"], "no rule 'missing-evel'; did you mean 'missing-eval'?"),
        ],
    )  # fmt: skip
    def test_is_one_clear_line(self, run: Run, project: Path, arguments: list[str], message: str) -> None:
        (project / "a.py").write_text("import torch\n")
        outcome = run(*arguments)
        assert outcome.status == 2
        assert outcome.err.startswith("modellint: " + message.format(project=project))
        assert outcome.err.count("\n") == 1

    def test_every_error_of_a_configuration_has_its_line(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        (project / ".modellint.yaml").write_text("selct: [ML1]\nignore: [3]\n")
        outcome = run("check")
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err == (
            f"modellint: {project}/.modellint.yaml:1: selct: unknown key; did you mean 'select'?\n"
            f"modellint: {project}/.modellint.yaml:2: ignore[0]: must be a string, not 3; put it into quotes\n"
        )

    def test_an_empty_folder_says_so(self, run: Run) -> None:
        outcome = run("check")
        assert (outcome.status, outcome.err) == (0, "modellint: no Python files or notebooks found\n")

    def test_a_pipe_does_not_hang(self, shell: Run, project: Path) -> None:
        os.mkfifo(project / "pipe.py")
        (project / "a.py").write_text(DEFECT)
        named = shell("check", "pipe.py", "a.py")
        assert (named.status, named.err) == (2, "modellint: pipe.py: is not a regular file\n")
        assert "ML101" in named.out
        walked = shell("check")
        assert (walked.status, walked.err) == (1, "modellint: pipe.py: is not a regular file, left out\n")


class TestAsAProcess:
    def test_heavy_libraries_are_not_imported(self, project: Path) -> None:
        (project / "a.py").write_text(DEFECT)
        (project / ".modellint.yaml").write_text("ignore: [ML2]\n")
        script = (
            "import sys, atexit\n"
            "heavy = {'torch', 'libcst', 'astroid', 'rich', 'pygls', 'numpy'}\n"
            "atexit.register(lambda: print('IMPORTED', sorted(heavy & set(sys.modules))))\n"
            "from modellint.cli import main\n"
            "main(['check'])\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "")
        assert "error[ML101]" in done.stdout, "it did check"
        assert done.stdout.splitlines()[-1] == "IMPORTED []"

    def test_a_closed_pipe_is_no_trouble(self, shell: Run, project: Path) -> None:
        for number in range(300):
            (project / f"a{number}.py").write_text(DEFECT)
        modellint = Path(sys.executable).with_name("modellint")
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; '{modellint}' check | head -n 1; exit ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
        )
        assert done.stdout.startswith("a0.py:8:16: error[ML101]")
        assert done.stderr == ""

    def test_an_interruption_is_quiet(self, project: Path) -> None:
        (project / "a.py").write_text("")
        modellint = Path(sys.executable).with_name("modellint")
        process = subprocess.Popen(
            [modellint, "check", "-"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # what runs in the background of a shell inherits that interruptions are ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(4.0)  # long enough to be waiting for its input, on a busy machine too
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (130, b"")

    def test_names_need_not_be_printable(self, shell: Run, project: Path) -> None:
        (project / "ä.py").write_text(DEFECT)
        outcome = shell("check", env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
        assert outcome.out.startswith("\\xe4.py:8:16: error[ML101]")

    def test_names_need_not_be_text(self, shell: Run, project: Path) -> None:
        Path(os.fsdecode(bytes(project) + b"/a\xff.py")).write_text(DEFECT)
        for name in formats():
            outcome = shell("check", "--output-format", name)
            assert (outcome.status, outcome.err) == (1, "")
            assert "ML101" in outcome.out

    def test_a_working_directory_that_is_gone(self, shell: Run, project: Path) -> None:
        gone = project / "gone"
        gone.mkdir()
        modellint = Path(sys.executable).with_name("modellint")
        done = subprocess.run(
            ["bash", "-c", f"cd gone && rmdir '{gone}' && '{modellint}' check"], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert done.stderr.startswith("modellint: ")
        assert done.stderr.count("\n") == 1

    def test_a_terminal_sees_progress_and_keeps_nothing_of_it(self, project: Path) -> None:
        """Three slow files take longer than the second that modellint stays quiet."""
        leader, follower = os.openpty()
        script = (
            "import time, modellint.linting.engine as engine\n"
            "from modellint.cli import main\n"
            "check = engine.Engine.check\n"
            "engine.Engine.check = lambda *a: (time.sleep(0.6), check(*a))[1]\n"
            "main(['check'])\n"
        )
        for name in ("a.py", "b.py", "c.py"):
            (project / name).write_text("import torch\n\nnet = torch.nn.Linear(2, 2).eval()\n")
        done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=follower, text=True)
        os.close(follower)
        shown = os.read(leader, 10_000).decode()
        os.close(leader)
        assert done.stdout == "No findings in 3 files.\n"
        assert "checking [" in shown
        assert shown.endswith("\r")
        assert shown.rsplit("\r", 2)[1].strip() == ""

    def test_the_version(self, shell: Run) -> None:
        from modellint import __version__

        assert shell("--version").out == f"modellint {__version__}\n"
        assert shell("version").out.startswith(f"modellint {__version__} (Python ")
