"""Calls that a long function makes again and again: six times tell what they do."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any

import pytest

from modellint.static.flow.machine import Machine
from modellint.static.flow.repeating import Repeated
from modellint.static.flow.state import State
from modellint.static.flow.values import (
    CONTAINER,
    ON,
    UNKNOWN_MODES,
    UNKNOWN_WEIGHTS,
    Args,
    External,
    FunctionValue,
    Grad,
    Obj,
    Value,
    cut_off,
    perhaps_cut_off,
)
from tests.static.conftest import Lint


def helper(name: str, calls: str) -> str:
    lines = "".join(f"    boxes = boxes.union(state.table, {n})\n" for n in range(9))
    return f"\ndef {name}(outputs, boxes, state):\n{lines}    return {calls}(outputs, boxes, state)\n"


HELPERS = "".join(helper(f"matched{n}", f"matched{n + 1}") for n in range(1, 6)) + helper("matched6", "pairs")
TRAINS = """
class Pairs:
    def __init__(self):
        self.distance = torch.nn.L1Loss()

    def __call__(self, outputs, boxes, state):
        return self.distance(outputs, boxes)

pairs = Pairs()

def validate(net, loader, boxes, state):
    net.eval()
    with torch.no_grad():
        for x, y in loader:
            outputs = net(x)
            print(matched1(outputs, boxes, state).mean().item())

def fit(net, loader, val_loader, optimizer, boxes, state, args):
    for epoch in range(9):
        net.train()
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            {forward}
            {backward}
            optimizer.step()
            if args.verbose and state.logs:
                print(step)
            if args.validate:
                for part in val_loader:
                    if args.quick:
                        validate(net, part, boxes, state)
                        if args.keep:
                            {after}
                    if args.thorough:
                        validate(net, part, boxes, state)
                    if args.last:
                        validate(net, part, boxes, state)
                {after}
            if args.debug and step > state.most:
                break
"""
FORWARD = "loss = matched1(net(x), boxes, state)"


def program(forward: str = FORWARD, backward: str = "loss.backward()", after: str = "pass") -> str:
    return "import torch\n" + HELPERS + TRAINS.format(forward=forward, backward=backward, after=after)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often each call, by the chain of calls to it, was run, for the functions that have no effect on models."""
    activate, found = Machine.activate, Counter[Any]()

    def noted(self: Machine, callee: FunctionValue, receiver: Any, args: Any, chain: Any, *rest: Any) -> Value:
        if callee.function.name.startswith("matched"):
            found[chain] += 1
        return activate(self, callee, receiver, args, chain, *rest)

    monkeypatch.setattr(Machine, "activate", noted)
    return found


def test_a_loop_that_puts_the_model_back(lint: Lint) -> None:
    lint(program(after="net.train()"), rules=["ML101", "ML103", "ML201"])


def test_training_that_a_helper_does_is_no_inference(lint: Lint) -> None:
    helper = "\ndef learn(outputs, boxes, state):\n    matched1(outputs, boxes, state).backward()\n"
    lint(program("outputs = net(x)", "learn(outputs, boxes, state)", "net.train()") + helper, rules=["ML101", "ML201"])


def test_a_helper_that_switches_what_it_is_given(lint: Lint) -> None:
    helper = "\ndef back(net):\n    net.train()\n"
    lint(program(after="back(net)") + helper, rules=["ML103"])


def test_a_leak_is_found_and_nothing_is_run_without_end(lint: Lint, runs: Counter[Any]) -> None:
    lint(program(FORWARD + "  # ML103"), rules=["ML103"])
    assert 3 < max(runs.values()) <= 6


LONG = """
import torch

def fit(net, loader, val_loader, optimizer, loss_fn, log, args):
    for epoch in range(args.epochs):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss_fn(net(x), y).backward()
            optimizer.step()
            for part in val_loader:
{switches}
                {ready}
                print(net(part).argmax(1).tolist()){mark}
                log.flush()
            {after}
"""


def long(ready: str, mark: str = "", after: str = "net.train()", options: int = 240) -> str:
    """Return a function with more branches in its loops than can be kept apart."""
    indent, lines = " " * 16, list[str]()
    for number in range(options):
        lines += [f"if args.option_{number}:", "    net.eval()", f"    log.add({number})", "else:", "    net.train()"]
    return LONG.format(switches="\n".join(indent + line for line in lines), ready=ready, mark=mark, after=after)


def test_a_long_function_that_is_right(lint: Lint) -> None:
    lint(long("net.eval(); torch.set_grad_enabled(False)"), rules=["ML101", "ML103", "ML201"])


def test_branches_that_were_joined_early_leak_nothing_for_certain(lint: Lint) -> None:
    lint(long("pass", after="pass"), rules=["ML103"])


def test_a_long_function_is_run_in_haste(lint: Lint) -> None:
    lint(long("net.eval()", "  # ML201"), rules=["ML201"])


@pytest.mark.parametrize("turns", [6, 7, 20])
def test_what_is_given_once_more_holds_what_is_in_it(turns: int) -> None:
    def item(how: str, **attrs: Value) -> Obj:
        return Obj(CONTAINER, None, "", None, how, UNKNOWN_MODES, UNKNOWN_WEIGHTS, attrs)

    run, other, calls = State.empty(Grad(ON, None)), State.empty(Grad(ON, None)), Repeated()
    run.heap[1], run.heap[2] = item("pair", left=Value(refs=frozenset({2}))), item("list")
    for _ in range(turns):
        calls.learn((), False, Value(refs=frozenset({1})), run)
    assert calls.recall((), None, Args(), other) == Value(refs=frozenset({1}))
    assert dict(other.heap) == dict(run.heap)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (frozenset({1}), frozenset({7})),
        (cut_off(frozenset({1})), cut_off(frozenset({7}))),
        (perhaps_cut_off(frozenset({1})), perhaps_cut_off(frozenset({7}))),
        (frozenset({1}) | cut_off(frozenset({1})), frozenset({7}) | cut_off(frozenset({7}))),
    ],
    ids=["with its graph", "cut off", "perhaps cut off", "cut off in one branch"],
)
def test_what_is_given_once_more_has_a_graph_where_it_had_one(before: frozenset[int], now: frozenset[int]) -> None:
    state, calls = State.empty(Grad(ON, None)), Repeated()
    for _ in range(6):
        calls.learn((), False, Value(taint=before), state)
    given = Args((Value(taint=frozenset({7})),))
    assert calls.recall((), None, given, state) == Value(taint=now)


@pytest.mark.parametrize("value", [Value(), Value(symbols=(External("zoo.build"),))])
def test_what_had_an_effect_or_gives_code_is_run_again(value: Value) -> None:
    state, calls = State.empty(Grad(ON, None)), Repeated()
    for turn in range(20):
        calls.learn((), not value.symbols and turn == 3, value, state)
    assert calls.recall((), None, Args(), state) is None


def script(ready: str, mark: str = "") -> str:
    """Return the body of a long function as a script: with its parameters made at the top level."""
    _, _, body = long(ready, mark, options=600).partition("optimizer, loss_fn, log, args):\n")
    head = "import torch, torchvision, setup\nnet = torchvision.models.resnet18()\n"
    names = "loader, val_loader, optimizer, loss_fn, log, args"
    return head + f"{names} = setup.everything(net)\n" + textwrap.dedent(body)


def test_a_long_script_that_is_right(lint: Lint) -> None:
    lint(script("net.eval(); torch.set_grad_enabled(False)"), rules=["ML101", "ML103", "ML201"])


def test_a_long_script_is_run_in_haste(lint: Lint) -> None:
    lint(script("net.eval()", "  # ML201"), rules=["ML201"])
