"""Generated nests of contexts and decorators: run with fakes, they say whether autograd records at the forward."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modellint.catalog import ActiveRule, load_frameworks, load_rules
from modellint.diagnostic import Confidence
from modellint.sources import SourceFile
from modellint.static import Analyzer

EXAMPLES = settings(max_examples=150, deadline=None, database=None, derandomize=True)
HEADER = """\
import contextlib
import functools

import torch


@contextlib.contextmanager
def quiet():
    with torch.no_grad():
        yield


@contextlib.contextmanager
def timed():
    yield


class Off:
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, *exc):
        torch.set_grad_enabled(self.before)


def off(fn):
    @functools.wraps(fn)
    def inner(*args):
        with torch.no_grad():
            return fn(*args)

    return inner


@torch.no_grad()
def helper(x):
    return x


def switch(mode):
    torch.set_grad_enabled(mode)


"""
FORWARD = "print(net(x).argmax(-1))"
CONTEXTS = [
    "torch.no_grad()",
    "torch.inference_mode()",
    "torch.inference_mode(mode=True)",
    "torch.inference_mode(False)",
    "torch.enable_grad()",
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    "torch.autocast('cuda')",
    "torch.no_grad(), timed()",
    "contextlib.nullcontext()",
    "quiet()",
    "timed()",
    "Off()",
]
STATEMENTS = [
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    "switch(False)",
    "switch(True)",
    "helper(x)",
    "with torch.no_grad():\n    x = x",
    "torch.no_grad()",
    "net.eval()",
]
BLOCKS = [
    "with {context}:\n{body}",
    "with contextlib.ExitStack() as stack:\n    stack.enter_context(torch.no_grad())\n{body}",
    "try:\n{body}\nfinally:\n    pass",
    "if True:\n{body}",
    "while True:\n{body}\n    break",
    "def inner(x):\n{body}\ninner(x)",
    "@torch.no_grad()\ndef inner(x):\n{body}\ninner(x)",
    "@torch.inference_mode\ndef inner(x):\n{body}\ninner(x)",
    "@torch.set_grad_enabled(False)\ndef inner(x):\n{body}\ninner(x)",
    "@torch.enable_grad()\ndef inner(x):\n{body}\ninner(x)",
    "@off\ndef inner(x):\n{body}\ninner(x)",
    "def inner(x):\n{body}\noff(inner)(x)",
    "def inner(x):\n{body}\ntorch.no_grad()(inner)(x)",
]


class Switch(contextlib.ContextDecorator):
    """Sets the fake's gradient mode while it is entered."""

    def __init__(self, torch: FakeTorch, mode: bool) -> None:
        self.torch, self.mode = torch, mode
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(self.torch.mode)
        self.torch.mode = self.mode

    def __exit__(self, *exc: object) -> None:
        self.torch.mode = self.before.pop()


class FakeTorch:
    """The gradient mode of torch, as its documentation has it, and nothing else."""

    def __init__(self) -> None:
        self.mode = True
        self.no_grad = functools.partial(Switch, self, False)
        self.enable_grad = functools.partial(Switch, self, True)

    def is_grad_enabled(self) -> bool:
        return self.mode

    def inference_mode(self, mode: bool | Callable[..., Any] = True) -> Any:
        if callable(mode):
            return Switch(self, False)(mode)
        return Switch(self, not mode)

    def set_grad_enabled(self, mode: bool) -> Any:
        before, self.mode = self.mode, mode  # at once, and until the end of the block if there is one
        return _Immediate(self, before, mode)

    def autocast(self, device: str) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()


class _Immediate:
    def __init__(self, torch: FakeTorch, before: bool, mode: bool) -> None:
        self.torch, self.before, self.mode = torch, before, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.torch.mode = self.before

    def __call__(self, fn: Callable[..., Any]) -> Any:
        self.torch.mode = self.before
        return Switch(self.torch, self.mode)(fn)


class FakeNet:
    """Remembers under which gradient mode it ran."""

    def __init__(self, torch: FakeTorch) -> None:
        self.torch = torch
        self.seen: list[bool] = []

    def eval(self) -> FakeNet:
        return self

    def __call__(self, x: object) -> FakeNet:
        self.seen.append(self.torch.mode)
        return self

    def argmax(self, dim: int) -> int:
        return 0


def nests(depth: int) -> st.SearchStrategy[str]:
    """Yield bodies with one forward, inside up to `depth` blocks."""
    before = st.lists(st.sampled_from(STATEMENTS), max_size=2)
    body = st.builds(lambda first: "\n".join([*first, FORWARD]), before)
    for _ in range(depth):
        body = body | st.builds(_block, before, st.sampled_from(BLOCKS), st.sampled_from(CONTEXTS), body)
    return body


def _block(before: list[str], block: str, context: str, body: str) -> str:
    return "\n".join([*before, block.format(context=context, body=indent(body, "    "))])


def records_when_run(function: str) -> bool:
    """Run `function` with fakes; return whether autograd records at its one forward."""
    torch = FakeTorch()
    net = FakeNet(torch)
    names: dict[str, Any] = {"torch": torch, "contextlib": contextlib, "functools": functools}
    exec(HEADER.split("import torch\n", 1)[1] + function, names)
    with contextlib.redirect_stdout(io.StringIO()):
        names["predict"](net, 1)
    [records] = net.seen
    return records


def shown(subject: Analyzer, function: str) -> set[str]:
    found = subject.check(SourceFile(Path("/nowhere/project/app.py"), HEADER + function))
    return {d.code for d in found if d.confidence is not Confidence.POSSIBLE}


@pytest.fixture(scope="module")
def subject() -> Analyzer:
    shipped = load_rules()
    rules = {code: ActiveRule.default(shipped[code]) for code in ("ML201", "ML202")}
    return Analyzer(rules, load_frameworks(), Path("/nowhere/project"))


@EXAMPLES
@given(body=nests(2))
def test_a_forward_is_reported_exactly_where_autograd_records(subject: Analyzer, body: str) -> None:
    function = f"def predict(net, x):\n    net.eval()\n{indent(body, '    ')}\n"

    assert bool(shown(subject, function)) == records_when_run(function), function


@EXAMPLES
@given(body=nests(6))
def test_in_deep_nests_there_is_no_false_alarm(subject: Analyzer, body: str) -> None:
    # calls inside calls are followed a few levels deep only: beyond that, silence
    function = f"def predict(net, x):\n    net.eval()\n{indent(body, '    ')}\n"

    assert records_when_run(function) or not shown(subject, function), function
