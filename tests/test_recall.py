"""The script that scores labelled defects: trees are laid out from a clone, labels found, missed, quiet or noisy."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "recall.py"
WRONG = """
import torch

def evaluate(net, batches):
    net.eval()
    return [net(x).argmax(-1).tolist() for x in batches]
"""
RIGHT = WRONG.replace("def evaluate", "@torch.no_grad()\ndef evaluate")
HALF_RIGHT = """
import torch

def evaluate(net, batches, held_out):
    net.eval()
    with torch.no_grad(): first = [net(x).argmax(-1).tolist() for x in batches]
    # the fix ends
    # here, and
    # what follows
    # is another
    # place
    return first, [net(x).argmax(-1).tolist() for x in held_out]
"""


@pytest.fixture
def recall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("recall", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["recall"] = module
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LABELS", tmp_path / "recall.yaml")
    monkeypatch.setattr(module, "TREES", tmp_path / "trees")
    return module


def commit(clone: Path, text: str, name: str = "net.py") -> str:
    git = ["git", "-c", "user.name=someone", "-c", "user.email=someone@example.org", "-C", str(clone)]
    (clone / name).write_text(text, "utf-8")
    subprocess.run([*git, "add", name], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "a change"], check=True)
    found = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def label(before: str, after: str | None, rows: list[int]) -> str:
    places = {"repo": "some/net", "path": "net.py", "before": before, "span": rows, "note": "a graph"}
    return json.dumps({"rule": "missing-no-grad", **places, "after": after, "after_span": rows if after else None})


def test_labels_are_scored_against_their_trees(
    recall: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "mirror" / "some+net" / "repo"
    clone.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    wrong, right = commit(clone, WRONG), commit(clone, RIGHT)
    defects, correct = tmp_path / "defects.jsonl", tmp_path / "correct.jsonl"
    defects.write_text("\n".join([label(wrong, right, [6, 6]), label(wrong, None, [60, 61])]), "utf-8")
    clean = {"repo": "some/net", "path": "net.py", "why": "nothing is recorded"}
    rows = [clean | {"commit": right}, clean | {"commit": wrong}, clean | {"commit": right, "repo": "no/clone"}]
    correct.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    recall.add("a set", [defects, correct])

    command = [sys.executable, "-m", "modellint"]
    recall.score(command, tmp_path / "mirror", "a set", None, misses=True)
    said = capsys.readouterr().out
    assert "ML201  found 1/2 = 0.500, quiet after the fix 1/1" in said
    assert "correct files with an alarm: 1/2" in said
    assert "checks that failed: 0; labels without a clone: 1" in said
    assert f"missed: ML201 some/net@{wrong[:12]} net.py:60-61 a graph" in said

    recall.score(command, tmp_path / "mirror", "a set", "ba"[recall.half_of("some/net") == "b"], misses=False)
    assert "all    found 0/0, quiet after the fix 0/0" in capsys.readouterr().out


def test_a_finding_elsewhere_may_name_the_place_of_a_fix(recall: ModuleType, tmp_path: Path) -> None:
    clone = tmp_path / "mirror" / "some+net" / "repo"
    clone.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    wrong, fixed = commit(clone, WRONG), commit(clone, HALF_RIGHT)
    row: dict[str, Any] = {"repository": "some/net", "file": "net.py", "commit": wrong, "rule": "ML201", "rows": [6]}
    row["fix"] = {"commit": fixed, "rows": [6]}
    judged = recall.judge([sys.executable, "-m", "modellint"], tmp_path / "mirror", row)
    assert (judged.verdict, judged.quiet) == ("found", True)


def test_labels_count_the_code_cells_of_a_notebook(recall: ModuleType, tmp_path: Path) -> None:
    clone = tmp_path / "mirror" / "some+net" / "repo"
    clone.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(clone)], check=True)

    def book(*cells: tuple[str, str]) -> str:
        return json.dumps({"cells": [{"cell_type": kind, "source": text} for kind, text in cells], "metadata": {}})

    title, setup = ("markdown", "# Title"), ("code", "x = 1")
    wrong = commit(clone, book(title, setup, title, ("code", WRONG)), "net.ipynb")
    fixed = commit(clone, book(title, title, setup, ("code", RIGHT), title, ("code", WRONG)), "net.ipynb")
    row: dict[str, Any] = {"repository": "some/net", "file": "net.ipynb", "commit": wrong, "rule": "ML201"}
    row |= {"rows": [6], "cell": 2, "fix": {"commit": fixed, "rows": [6]}}
    command, mirror = [sys.executable, "-m", "modellint"], tmp_path / "mirror"
    judged = recall.judge(command, mirror, row)
    assert (judged.verdict, judged.quiet) == ("found", True)
    judged = recall.judge(command, mirror, row | {"commit": fixed, "cell": 3, "fix": None})
    assert judged.verdict == "found"
    for cell in (1, 4):  # another one, and one that is not there
        assert recall.judge(command, mirror, row | {"cell": cell, "fix": None}).verdict == "missed"


def test_what_is_no_label_is_told_with_its_line(recall: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "defects.jsonl"
    file.write_text(label("a" * 40, None, [1, 1]) + '\n{"rule": "missing-eval"}', "utf-8")
    with pytest.raises(SystemExit, match=r"defects\.jsonl:2: no label: KeyError\('repo'\)"):
        recall.add("a set", [file])
    with pytest.raises(SystemExit, match="no set called 'another'"):
        recall.LABELS.write_text("a set: {defects: [], correct: []}", "utf-8")
        recall.score([], tmp_path, "another", None, misses=False)
