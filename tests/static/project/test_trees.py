"""Trees are let go between files and come back: the findings stay the same, in whatever order files are checked."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from modellint.sources import read_source
from modellint.static import Analyzer
from modellint.static.project import index
from tests.static.conftest import analyzer, write

FILES = {
    "nets.py": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

            def forward(self, x):
                return self.body(x)

        def load(path):
            net = Net()
            net.load_state_dict(torch.load(path, weights_only=True))
            return net
        """,
    "metrics.py": """
        import torch

        @torch.no_grad()
        def accuracy(model, loader):
            return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
        """,
    "first.py": """
        from metrics import accuracy
        from nets import load

        def main(path, loader):
            print(accuracy(load(path), loader))
        """,
    "second.py": """
        import torch
        from nets import load

        @torch.no_grad()
        def main(path, x):
            print(load(path)(x).argmax(-1))
        """,
}


def findings(subject: Analyzer, paths: list[Path]) -> set[tuple[str, int, str, str]]:
    return {
        (Path(d.filename).name, d.span.start.row, d.code, d.message)
        for path in paths
        for d in subject.check(read_source(path))
    }


@pytest.fixture
def project(tmp_path: Path) -> list[Path]:
    return write(tmp_path, FILES)


def test_trees_that_are_dropped_after_every_file_change_nothing(
    project: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = findings(analyzer(tmp_path, project), project)
    monkeypatch.setattr(index, "TREE_BUDGET", 0)
    dropped = findings(analyzer(tmp_path, project), project)

    assert {code for _, _, code, _ in kept} == {"ML101"}
    assert dropped == kept


def test_files_checked_twice_say_the_same(project: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "TREE_BUDGET", 0)
    subject = analyzer(tmp_path, project)

    assert findings(subject, project) == findings(subject, project) != set()


def test_the_order_of_the_files_changes_nothing(project: list[Path], tmp_path: Path) -> None:
    outcomes = {frozenset(findings(analyzer(tmp_path, project), list(order))) for order in permutations(project)}

    assert len(outcomes) == 1


def test_one_analyzer_sees_the_new_text_of_a_file(project: list[Path], tmp_path: Path) -> None:
    subject = analyzer(tmp_path, project)
    first = findings(subject, project)
    nets = tmp_path / "nets.py"
    nets.write_text(nets.read_text(encoding="utf-8").replace("return net\n", "return net.eval()\n"), encoding="utf-8")

    assert first
    assert findings(subject, project) == set()
