"""What a finding names beside its place: the calls by which it came about, and no others."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

TRAINER = """
import torch
from torch.nn import functional as F
from torchvision.models import resnet18

def evaluate(net, loader):
    net.eval()
    with torch.no_grad():
        return [net(x).argmax(1).tolist() for x, _ in loader]

def fit(path, loader, held_out, optimizer):
    net = resnet18()
    net.load_state_dict(torch.load(path))
    net.train()
    for epoch in range(10):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)  # ML103
            loss.backward()
            optimizer.step()
        {first}
        print("validated")
        {second}
"""
VALIDATE = "print(evaluate(net, held_out))"
PUT_BACK = f"{VALIDATE}; net.train()"
SOMETIMES = f"if epoch % 2: {VALIDATE}"


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        (PUT_BACK, SOMETIMES, [22]),
        (SOMETIMES, VALIDATE, [20, 22]),
        ("print(epoch)", VALIDATE, [22]),
    ],
)
def test_the_evaluations_that_nothing_undoes_are_named(lint: Lint, first: str, second: str, named: list[int]) -> None:
    (found,) = lint(TRAINER.format(first=first, second=second), rules=["ML103"])

    called = [place.position.row for place in found.related if "called here" in place.message]
    assert called == named


def test_the_helpers_that_switch_a_mode_are_named(lint: Lint) -> None:
    switched = TRAINER.replace("    net.eval()\n", '    switch("eval", net)\n').replace(
        "def evaluate(", 'def switch(mode, net):\n    if mode == "eval":\n        net.eval()\n\ndef evaluate('
    )
    (found,) = lint(switched.format(first="print(epoch)", second=VALIDATE), rules=["ML103"])

    rows = {place.position.row: place.message for place in found.related}
    assert {11, 26} <= rows.keys()
    assert rows[11] == "by switch, called here"
