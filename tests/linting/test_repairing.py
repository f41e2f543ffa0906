"""Which way of checking a file again proves its fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from modellint.diagnostic import Diagnostic
from modellint.linting.engine import Engine
from modellint.linting.repairing import proved
from modellint.settings import Resolver
from modellint.sources import SourceFile, read_source

CODE = dedent("""
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
    net.load_state_dict(torch.load("a.pt", weights_only=True))
    net.eval
    print(net(x).argmax())
""").encode()


class Asked:
    """A way to check that gives what it is told to, and counts how often it is asked."""

    def __init__(self, before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> None:
        self.before, self.after, self.times = before, after, 0

    def __call__(self, data: bytes) -> Sequence[Diagnostic]:
        self.times += 1
        return self.before if data == CODE else self.after


@pytest.fixture
def found(tmp_path: Path) -> tuple[Diagnostic, SourceFile]:
    """Return a finding with a fix, and its file."""
    path = tmp_path / "app.py"
    path.write_bytes(CODE)
    report = Engine(Resolver(), frozenset({path}), fixes=True).check(path, None, named=True)
    wanted = next(d for d in report.diagnostics if d.code == "ML102")
    assert wanted.fix is not None
    return wanted, read_source(path, CODE)


def test_a_view_without_the_callers_proves_what_it_sees(found: tuple[Diagnostic, SourceFile]) -> None:
    wanted, source = found
    alone, whole = Asked([replace(wanted, related=(), message="told otherwise")], []), Asked([wanted], [wanted])
    assert proved([wanted], source, CODE, [alone, whole]) == [wanted]
    assert (alone.times, whole.times) == (2, 0)


def test_what_it_does_not_see_is_left_to_the_whole(found: tuple[Diagnostic, SourceFile]) -> None:
    wanted, source = found
    for after in ([], [wanted]):
        alone, whole = Asked([], []), Asked([wanted], after)
        assert proved([wanted], source, CODE, [alone, whole]) == [wanted if not after else replace(wanted, fix=None)]
        assert (alone.times, whole.times) == (1, 1)


def test_what_comes_with_a_fix_is_told_from_what_was_there(found: tuple[Diagnostic, SourceFile]) -> None:
    wanted, source = found
    other = replace(wanted, code="ML101", fix=None)
    there = Asked([wanted, other], [other])
    new = Asked([wanted], [other])
    assert proved([wanted], source, CODE, [there, Asked([], [wanted])]) == [wanted]
    assert proved([wanted], source, CODE, [new, Asked([], [])]) == [replace(wanted, fix=None)]


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
