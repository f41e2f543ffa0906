"""`modellint check --fix`, `--unsafe-fixes` and `--diff`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from modellint.cli import _fixes
from tests.cli.conftest import Run

BEFORE = """\
import torch

def predict(model, x):
    model.eval  # the mode
    with torch.no_grad():
        return model(x).argmax(1)
"""
AFTER = BEFORE.replace("model.eval ", "model.eval() ")


class TestWithoutTheOption:
    def test_nothing_is_written(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(BEFORE)
        run("check")
        run("check", "--unsafe-fixes")
        assert (project / "a.py").read_text() == BEFORE

    def test_json_carries_the_edits(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(BEFORE)
        [found] = json.loads(run("check", "--select", "ML102", "--output-format", "json").out)
        place = {"row": 4, "column": 15}
        assert found["fix"] == {
            "applicability": "safe",
            "message": "Call it: `model.eval()`",
            "edits": [{"location": place, "end_location": place, "content": "()"}],
        }

    def test_text_does_without_libcst(self, project: Path) -> None:
        (project / "a.py").write_text(BEFORE)
        script = (
            "import sys\nfrom modellint.cli import main\n"
            "try:\n    main(['check', 'a.py'])\nexcept SystemExit as left:\n"
            "    print(left.code, 'libcst' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.splitlines()[-1] == "1 False"


class TestFix:
    def test_what_is_fixed_is_no_finding_any_more(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(BEFORE)
        outcome = run("check", "--fix")
        assert (outcome.status, outcome.out) == (0, "No findings in 1 file.\nFixed 1 finding in 1 file.\n")
        assert (project / "a.py").read_text() == AFTER

    def test_nothing_to_fix_is_not_mentioned(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(AFTER)
        assert run("check", "--fix").out == "No findings in 1 file.\n"

    def test_other_formats_stay_what_they_are(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(BEFORE)
        outcome = run("check", "--fix", "--output-format", "json")
        assert (json.loads(outcome.out), outcome.err) == ([], "Fixed 1 finding in 1 file.\n")

    def test_what_is_left_counts(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text("import math  # modellint: ignore\n" + BEFORE)
        outcome = run("check", "--fix")
        assert outcome.status == 1
        assert outcome.out.endswith("Fixed 1 finding in 1 file; 1 more with --unsafe-fixes.\n")
        assert run("check", "--fix", "--unsafe-fixes").status == 0
        assert (project / "a.py").read_text() == "import math\n" + AFTER

    def test_a_suppressed_finding_is_left_alone(self, run: Run, project: Path) -> None:
        text = BEFORE.replace("# the mode", "# noqa: ML102")
        (project / "a.py").write_text(text)
        run("check", "--fix", "--unsafe-fixes")
        assert (project / "a.py").read_text() == text

    def test_a_file_that_does_not_parse_is_left_alone(self, run: Run, project: Path) -> None:
        text = BEFORE + "def broken(:\n"
        (project / "a.py").write_text(text)
        assert run("check", "--fix").status == 1
        assert (project / "a.py").read_text() == text

    def test_permissions_and_links_stay(self, run: Run, project: Path) -> None:
        (project / "real").mkdir()
        (project / "real" / "b.py").write_text(BEFORE)
        (project / "real" / "b.py").chmod(0o755)
        (project / "a.py").symlink_to(project / "real" / "b.py")
        run("check", "--fix", "a.py")
        assert (project / "a.py").is_symlink()
        assert (project / "real" / "b.py").read_text() == AFTER
        assert (project / "real" / "b.py").stat().st_mode & 0o777 == 0o755
        assert [path.name for path in (project / "real").iterdir()] == ["b.py"]

    def test_line_ends_and_byte_order_mark_stay(self, run: Run, project: Path) -> None:
        (project / "a.py").write_bytes(b"\xef\xbb\xbf" + BEFORE.replace("\n", "\r\n").encode())
        run("check", "--fix")
        assert (project / "a.py").read_bytes() == b"\xef\xbb\xbf" + AFTER.replace("\n", "\r\n").encode()

    def test_a_notebook_keeps_its_layout(self, run: Run, project: Path) -> None:
        lines = BEFORE.splitlines(keepends=True)
        code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines}
        magic = {**code, "source": ["%matplotlib inline\n", "x = 'é'"]}
        title = {"cell_type": "markdown", "metadata": {}, "source": lines}
        book = {"cells": [title, magic, title, code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        text = json.dumps(book, indent=1, ensure_ascii=False)
        (project / "a.ipynb").write_text(text, encoding="utf-8")
        assert run("check", "--fix").status == 0
        first, last = text.rsplit("model.eval ", 1)  # what looks like it is text
        expected = f"{first}model.eval() {last}"
        assert (project / "a.ipynb").read_text(encoding="utf-8") == expected

    def test_json_places_are_those_of_the_cell(self, run: Run, project: Path) -> None:
        code = {"cell_type": "code", "metadata": {}, "outputs": [], "source": BEFORE}
        title = {"cell_type": "markdown", "metadata": {}, "source": "# Title"}
        book = {"cells": [title, {**code, "source": "x = 1\ny = 2"}, title, code], "metadata": {}}
        (project / "a.ipynb").write_text(json.dumps(book))
        [found] = json.loads(run("check", "--select", "ML102", "--output-format", "json").out)
        assert found["fix"]["edits"] == [
            {"location": {"row": 4, "column": 15}, "end_location": {"row": 4, "column": 15}, "content": "()", "cell": 4}
        ]

    def test_a_diff_names_the_cell(self, run: Run, project: Path) -> None:
        cells = [{"cell_type": kind, "source": BEFORE} for kind in ("markdown", "code", "markdown", "code")]
        cells[1]["source"] = "x = 1\n"
        (project / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
        out = run("check", "--diff").out
        assert [line for line in out.splitlines() if line.startswith(("---", "+++"))] == [
            "--- a.ipynb:cell 4",
            "+++ a.ipynb:cell 4",
        ]

    def test_a_file_that_changed_meanwhile_is_not_overwritten(self, project: Path) -> None:
        (project / "a.py").write_text("something else\n")
        problem = _fixes.overwrite(project / "a.py", BEFORE.encode(), AFTER.encode())
        assert problem == "a.py: changed while it was checked; its fixes were not written"
        assert (project / "a.py").read_text() == "something else\n"

    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator may write everything")
    def test_a_write_protected_file_is_named(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(BEFORE)
        (project / "a.py").chmod(0o444)
        outcome = run("check", "--fix")
        assert (outcome.status, outcome.err) == (2, "modellint: a.py: cannot be written: write-protected\n")


class TestDiff:
    def test_it_shows_and_changes_nothing(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(BEFORE)
        outcome = run("check", "--diff")
        assert (outcome.status, outcome.err) == (1, "modellint: would fix 1 finding in 1 file\n")
        assert outcome.out.splitlines()[:3] == ["--- a.py", "+++ a.py", "@@ -1,6 +1,6 @@"]
        assert "-    model.eval  # the mode\n+    model.eval()  # the mode\n" in outcome.out
        assert (project / "a.py").read_text() == BEFORE

    def test_patch_understands_it(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(BEFORE.rstrip("\n"))
        diff = run("check", "--diff").out
        done = subprocess.run(["git", "apply", "-p0"], input=diff, text=True, capture_output=True, timeout=30)
        assert done.returncode == 0, done.stderr
        assert (project / "a.py").read_text() == AFTER.rstrip("\n")

    def test_nothing_to_show(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text("import math  # modellint: ignore\n")
        outcome = run("check", "--diff")
        assert (outcome.status, outcome.out) == (0, "")
        assert outcome.err == "modellint: would fix 0 findings in 0 files; 1 more with --unsafe-fixes\n"

    def test_it_wins_over_fix(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(BEFORE)
        assert run("check", "--diff", "--fix").status == 1
        assert (project / "a.py").read_text() == BEFORE

    def test_trouble_is_still_trouble(self, run: Run, project: Path) -> None:
        assert run("check", "--diff", "gone.py").status == 2


class TestStandardInput:
    def test_the_fixed_text_is_printed(self, run: Run) -> None:
        outcome = run("check", "--fix", "-", stdin=BEFORE.encode())
        assert (outcome.status, outcome.out) == (0, AFTER)
        assert outcome.err == "No findings in 1 file.\nFixed 1 finding in 1 file.\n"

    def test_a_text_with_nothing_to_fix_is_printed_too(self, run: Run) -> None:
        assert run("check", "--fix", "-q", "-", stdin=b"def broken(:\n").out == "def broken(:\n"

    def test_a_difference(self, run: Run) -> None:
        outcome = run("check", "--diff", "--stdin-filename", "x.py", "-", stdin=BEFORE.encode())
        assert outcome.out.startswith("--- x.py\n+++ x.py\n")
