"""Generated programs: run for real they say what is right, and changes that mean nothing change nothing."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modellint.catalog import ActiveRule, load_frameworks, load_rules
from modellint.diagnostic import Confidence
from modellint.sources import SourceFile
from modellint.static import Analyzer

EXAMPLES = settings(max_examples=120, deadline=None, database=None, derandomize=True)
HEADER = """\
import copy

import torch
from torchvision.models import resnet18


def ready(net):
    net.eval()
    return net


def busy(net):
    net.train()


class Pair:
    def __init__(self, first, second):
        self.first = first
        self.second = second

    def prepare(self):
        self.first.eval()


"""
START = "a = resnet18(weights='DEFAULT')\nb = resnet18(weights='DEFAULT')\n"
STEPS = [
    "{m}.eval()",
    "{m}.train()",
    "{m}.train(False)",
    "{m}.train(mode=True)",
    "{m} = {m}.cuda()",
    "{m} = {m}.half().eval()",
    "{m} = {m}.train().to('cpu')",
    "ready({m})",
    "{m} = ready({m})",
    "busy({m})",
    "a, b = b, a",
    "a = b",
    "c = a\nc.eval()",
    "{m} = copy.deepcopy({m})",
    "d = copy.deepcopy({m})\nd.eval()",
    "{m} = resnet18(weights='DEFAULT')",
    "with torch.no_grad():\n    {m}.eval()",
    "try:\n    {m}.train()\nfinally:\n    {m}.half()",
    "for net in [a, b]:\n    net.eval()",
    "for net in (b,):\n    net.train()",
    "[net.eval() for net in (a, b)]",
    "(lambda net: net.train())({m})",
    "was = {m}.training\n{m}.eval()\n{m}.train(was)",
    "nets = {{'a': a, 'b': b}}\nnets['b'].eval()",
    "pair = Pair(b, a)\npair.prepare()\nb = pair.second",
    "if flag:\n    {m}.eval()\nelse:\n    {m}.train(False)",
    "if flag:\n    b.eval()\nelse:\n    b = {m}",
]
LAST = "print(a(x).argmax(-1))"


class FakeNet:
    """A model that knows its mode and nothing else."""

    def __init__(self, weights: str) -> None:
        self.training = True

    def train(self, mode: bool = True) -> FakeNet:
        self.training = mode
        return self

    def eval(self) -> FakeNet:
        return self.train(False)

    def to(self, device: str) -> FakeNet:
        return self

    cuda = half = lambda self: self


class FakeTorch:
    """Its no_grad is a context manager without effect."""

    def no_grad(self) -> FakeTorch:
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def modes_when_run(body: str) -> set[bool]:
    """Run `body` with fakes; return the `training` flags that `a` can end with, whatever `flag` is."""
    definitions = HEADER.split("\n\n\n", 1)[1]
    modes = set()
    for flag in (True, False):
        names: dict[str, object] = {"copy": copy, "torch": FakeTorch(), "resnet18": FakeNet, "flag": flag}
        exec(definitions + START + body, names)
        net = names["a"]
        assert isinstance(net, FakeNet)
        modes.add(net.training)
    return modes


@pytest.fixture(scope="module")
def subject() -> Analyzer:
    """One analyzer for all programs: each is the new text of the same file."""
    shipped = load_rules()
    rules = {code: ActiveRule.default(shipped[code]) for code in ("ML101", "ML201", "ML103")}
    return Analyzer(rules, load_frameworks(), Path("/nowhere/project"))


def findings(subject: Analyzer, text: str) -> set[tuple[str, str]]:
    """Return (code, the line without its margin) of what is shown."""
    lines = text.splitlines()
    found = subject.check(SourceFile(Path("/nowhere/project/app.py"), text))
    return {(d.code, lines[d.span.start.row - 1].strip()) for d in found if d.confidence is not Confidence.POSSIBLE}


def step() -> st.SearchStrategy[str]:
    return st.builds(lambda text, name: text.format(m=name), st.sampled_from(STEPS), st.sampled_from("ab"))


@EXAMPLES
@given(steps=st.lists(step(), max_size=8))
def test_the_last_forward_is_reported_where_running_it_would_be_in_training_mode(
    subject: Analyzer, steps: list[str]
) -> None:
    body = "\n".join(steps) + "\n"
    text = f"{HEADER}@torch.no_grad()\ndef predict(x, flag):\n{indent(START + body + LAST, '    ')}\n"

    modes = modes_when_run(body)

    reported = ("ML101", LAST) in findings(subject, text)
    if modes == {False}:
        assert not reported, text
    elif modes == {True}:
        assert reported, text


@EXAMPLES
@given(steps=st.lists(step(), max_size=8))
def test_a_script_is_judged_like_a_function(subject: Analyzer, steps: list[str]) -> None:
    body = START + "\n".join(steps) + f"\nwith torch.no_grad():\n    {LAST}\n"
    function = f"{HEADER}def predict(x, flag):\n{indent(body, '    ')}"
    called = f"{function}\npredict(torch.ones(1), load_flag())\n"
    script = f"{HEADER}x, flag = torch.ones(1), load_flag()\n{body}"

    assert findings(subject, called) == findings(subject, script)


PROGRAMS = [
    """
    import torch
    from torchvision.models import resnet18

    def load(path):
        net = resnet18()
        net.load_state_dict(torch.load(path, weights_only=True))
        return net

    @torch.no_grad()
    def predict(path, x):
        net = load(path)
        return net(x).argmax(-1).item()
    """,
    """
    import torch

    def evaluate(net, loader, loss_fn):
        net.eval()
        total = 0.0
        for x, y in loader:
            total += loss_fn(net(x), y).item()
        return total

    def fit(net, loader, val_loader, optimizer, loss_fn):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss_fn(net(x), y).backward()
            optimizer.step()
            print(evaluate(net, val_loader, loss_fn))
    """,
    """
    import torch
    from torchvision.models import resnet18

    class Service:
        def __init__(self, path):
            self.net = resnet18()
            self.net.load_state_dict(torch.load(path, weights_only=True))
            self.net.eval()

        def predict(self, x):
            with torch.no_grad():
                return self.net(x).argmax(-1).item()

    class Careless(Service):
        def predict(self, x):
            return self.net(x).argmax(-1).item()
    """,
]
MODEL_NAMES = ["model", "network", "classifier", "backbone", "my_net", "resnet", "student_model"]
NEUTRAL = ["pass", "print('here')", "count = 0", "assert True", "'a note'", "import os", "# a comment", ""]


@EXAMPLES
@given(program=st.sampled_from(PROGRAMS), name=st.sampled_from(MODEL_NAMES))
def test_another_name_for_the_model_changes_nothing(subject: Analyzer, program: str, name: str) -> None:
    before = findings(subject, dedent(program))
    after = findings(subject, re.sub(r"\bnet\b", name, dedent(program)))

    assert before
    assert after == {(code, re.sub(r"\bnet\b", name, line)) for code, line in before}


@EXAMPLES
@given(program=st.sampled_from(PROGRAMS), data=st.data())
def test_statements_that_do_nothing_change_nothing(subject: Analyzer, program: str, data: st.DataObject) -> None:
    lines = dedent(program).splitlines()
    grown = []
    for line in lines:
        grown.append(line)
        margin = re.match(r" *", line)
        # behind a whole statement only: not behind the head of a block, not behind a decorator
        if line.strip() and margin and not line.endswith(":") and not line.lstrip().startswith(("@", "return")):
            grown.append(margin[0] + data.draw(st.sampled_from(NEUTRAL)))

    assert findings(subject, "\n".join(grown)) == findings(subject, dedent(program))


@EXAMPLES
@given(program=st.sampled_from(PROGRAMS), data=st.data())
def test_the_order_of_definitions_changes_nothing(subject: Analyzer, program: str, data: st.DataObject) -> None:
    head, *definitions = re.split(r"\n(?=def |class |@)", dedent(program))
    decorated = re.compile(r"@.*\Z")
    merged: list[str] = []
    for part in definitions:
        if merged and decorated.search(merged[-1].strip().splitlines()[-1]):
            merged[-1] += "\n" + part
        else:
            merged.append(part)
    if any("(Service)" in part for part in merged):
        return  # a base class must stand first
    order = data.draw(st.permutations(merged))

    assert findings(subject, "\n".join([head, *order])) == findings(subject, dedent(program))
