"""Which way of checking a file again proves its fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import TypeAlias

import pytest

from modellint.diagnostic import Diagnostic, Edit, Span
from modellint.linting.engine import Engine
from modellint.linting.repairing import View, proved
from modellint.settings import Resolver
from modellint.sources import SourceFile, read_source

CODE = dedent("""
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
    net.load_state_dict(torch.load("a.pt", weights_only=True))
    net.eval()
    print(net(x).argmax())
""").encode()


class Asked:
    """A way to check that gives what it is told to, and counts how often it is asked."""

    def __init__(self, before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> None:
        self.before, self.after, self.times = before, after, 0

    def __call__(self, data: bytes) -> Sequence[Diagnostic]:
        self.times += 1
        return self.before if data == CODE else self.after


Found: TypeAlias = "tuple[Diagnostic, SourceFile]"


@pytest.fixture
def found(tmp_path: Path) -> Found:
    """Return a finding with a fix, and its file."""
    path = tmp_path / "app.py"
    path.write_bytes(CODE)
    report = Engine(Resolver(), frozenset({path}), fixes=True).check(path, None, named=True)
    wanted = next(d for d in report.diagnostics if d.code == "ML201")
    assert wanted.fix is not None
    return wanted, read_source(path, CODE)


def test_what_is_seen_without_the_callers_is_proved_without_them(found: Found) -> None:
    wanted, source = found
    alone, whole = Asked([replace(wanted, related=(), message="told otherwise")], []), Asked([wanted], [wanted])
    assert proved([wanted], source, CODE, whole, View(alone, CODE)) == [wanted]
    assert (alone.times, whole.times) == (2, 0)


def test_what_no_caller_told_is_not_looked_for_twice(found: Found) -> None:
    wanted, source = found
    for after in ([], [wanted]):
        alone, whole = Asked([], after), Asked([wanted], [])
        proof = proved([wanted], source, CODE, whole, View(alone, CODE, [wanted]))
        assert proof == [wanted if not after else replace(wanted, fix=None)]
        assert (alone.times, whole.times) == (1, 0)


def test_what_callers_tell_is_proved_with_them(found: Found) -> None:
    wanted, source = found
    for after in ([], [wanted]):
        alone, whole = Asked([], []), Asked([wanted], after)
        proof = proved([wanted], source, CODE, whole, View(alone, CODE))
        assert proof == [wanted if not after else replace(wanted, fix=None)]
        assert (alone.times, whole.times) == (1, 1)


def test_what_sets_a_mode_is_proved_with_the_callers(found: Found) -> None:
    wanted, source = (replace(found[0], code="ML101"), found[1])
    alone, whole = Asked([wanted], []), Asked([wanted], [wanted])
    assert proved([wanted], source, CODE, whole, View(alone, CODE, [wanted])) == [replace(wanted, fix=None)]
    assert (alone.times, whole.times) == (0, 1)


def test_what_sets_a_mode_is_proved_as_if_nothing_else_was_checked(found: Found) -> None:
    wanted, source = (replace(found[0], code="ML101"), found[1])
    leak = replace(wanted, code="ML103", fix=None)
    apart, whole = Asked([wanted], [leak]), Asked([wanted], [])
    assert proved([wanted], source, CODE, whole, None, View(apart, CODE)) == [replace(wanted, fix=None)]
    assert (apart.times, whole.times) == (2, 0)
    unseen = Asked([], [])
    assert proved([wanted], source, CODE, whole, None, View(unseen, CODE)) == [wanted]
    assert (unseen.times, whole.times) == (1, 1)


def test_what_comes_with_a_fix_is_told_from_what_was_there(found: Found) -> None:
    wanted, source = found
    other = replace(wanted, code="ML203", fix=None)
    there = Asked([wanted, other], [other])
    new = Asked([wanted], [other])
    assert proved([wanted], source, CODE, Asked([], [wanted]), View(there, CODE)) == [wanted]
    assert proved([wanted], source, CODE, Asked([], []), View(new, CODE)) == [replace(wanted, fix=None)]


def test_a_fix_that_fails_does_not_have_all_others_proved_one_by_one(found: Found) -> None:
    first, source = found
    assert first.fix is not None
    edits = [Edit(Span.of(row + 1, 1, row + 1, 1), f"# {row}\n") for row in range(3)]
    fixes = [replace(first.fix, edits=(edit,)) for edit in edits]
    codes = ("ML201", "ML201", "ML306")
    listed = [replace(first, code=code, fix=fix) for code, fix in zip(codes, fixes, strict=True)]
    asked: list[bytes] = []

    def whole(data: bytes) -> Sequence[Diagnostic]:
        asked.append(data)
        repaired = [f"# {row}\n".encode() in data and row != 2 for row in range(3)]
        return [diagnostic for diagnostic, done in zip(listed, repaired, strict=True) if not done]

    assert [d.fix is not None for d in proved(listed, source, CODE, whole)] == [True, True, False]
    assert len(asked) == 3  # all three, the two of the other rule, and the one that fails


EVALUATOR = """
import torch

class Evaluator:
    def __init__(self, model):
        self.model = model

    def check(self, loader):
        self.model.eval()
        with torch.no_grad():
            return [self.model(x).argmax(1).tolist() for x in loader]

    def evaluate(self, loader):
        with torch.no_grad():
            return [self.model(x).argmax(1).tolist() for x in loader]
"""
TRAINING = """
import torch
from torch import nn
from evaluating import Evaluator

def main(loader, test):
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    evaluator = Evaluator(net)
    for epoch in range(10):
        {TRAIN}
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        print(evaluator.evaluate(test))

main(load(), load())
"""


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(("train", "fixed"), [("pass", False), ("net.train()", True)])
def test_no_fix_leaves_a_model_in_evaluation_mode_that_a_caller_trains(
    tmp_path: Path, train: str, fixed: bool, both: bool
) -> None:
    evaluating, training = tmp_path / "evaluating.py", tmp_path / "training.py"
    evaluating.write_text(EVALUATOR)
    training.write_text(TRAINING.replace("{TRAIN}", train))
    checked = frozenset({evaluating, training} if both else {evaluating})
    report = Engine(Resolver(), checked, fixes=True).check(evaluating, None, named=True)
    assert [(d.code, d.fix is not None) for d in report.diagnostics] == [("ML101", fixed)]


def test_a_file_is_judged_without_its_callers(tmp_path: Path) -> None:
    model = tmp_path / "evaluating.py"
    model.write_text(
        "import torch\n\ndef score(net, x):\n    with torch.no_grad():\n        return net.forward(x).argmax().item()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nfrom evaluating import score\n\n"
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))\n"
        'net.load_state_dict(torch.load("a.pt", weights_only=True))\nprint(score(net, x))\n'
    )
    files = frozenset({model, script})
    told = {
        alone: [d.code for d in Engine(Resolver(), files, alone=alone).check(model, None, named=True).diagnostics]
        for alone in (False, True)
    }
    assert told == {False: ["ML101"], True: []}
