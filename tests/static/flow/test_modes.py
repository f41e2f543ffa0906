"""Switching a model together with its parts."""

from __future__ import annotations

import pytest

from modellint.static.flow.modes import set_mode
from modellint.static.flow.state import State
from modellint.static.flow.values import (
    EVAL,
    MODEL,
    ON,
    OPAQUE,
    TRAIN,
    Grad,
    ModeFact,
    Obj,
    Value,
    kinds,
)
from tests.static.conftest import Lint

LAYERS = 60
TRAINING = frozenset({ModeFact(TRAIN, None, "Net()")})
EVALUATION = frozenset({ModeFact(EVAL, None, "eval()")})


def _module(number: int, kind: str = MODEL) -> Obj:
    deeper = Value(refs=frozenset({number + 1})) if number < LAYERS else Value()
    attrs = {"left": deeper, "right": deeper}
    return Obj(kind, None, "net", None, "Net", TRAINING, frozenset(), attrs, part=kind == OPAQUE)


def test_parts_that_share_their_parts_are_switched_once_each() -> None:
    """One by one: on each way to each part it would be 2 ** 60 times."""
    state = State.empty(Grad(ON, None))
    for number in range(LAYERS + 1):
        state.heap[number] = _module(number)
    set_mode(0, EVALUATION, state)
    assert all(kinds(state.heap[number].modes) == {EVAL} for number in range(LAYERS + 1))


def test_what_may_be_a_part_follows_and_stays_what_it_may_be() -> None:
    state = State.empty(Grad(ON, None))
    state.heap[LAYERS - 1] = _module(LAYERS - 1, OPAQUE)
    state.heap[LAYERS] = _module(LAYERS, OPAQUE)
    set_mode(LAYERS - 1, EVALUATION, state)
    whole, part = state.heap[LAYERS - 1], state.heap[LAYERS]
    assert (whole.kind, whole.proven) == (MODEL, True)
    assert (part.kind, part.proven, kinds(part.modes)) == (OPAQUE, False, {EVAL})


MANY = 12
"""More models than a variable's methods were once told apart for."""


@pytest.mark.parametrize(("switch", "mark"), [("teacher.cuda().eval()", ""), ("teacher.cuda()", "  # ML101")])
def test_however_many_models_a_variable_may_be_all_are_switched(lint: Lint, switch: str, mark: str) -> None:
    classes = "".join(
        f"""
class Net{number}(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.{number + 1})

    def forward(self, x):
        return self.drop(x)
"""
        for number in range(MANY)
    )
    branches = "".join(f"    if name == 'net{number}':\n        return Net{number}()\n" for number in range(MANY))
    lint(
        f"""
import torch
from torch import nn
{classes}

def load(name):
{branches}    raise ValueError(name)

def main(args):
    teacher = load(args.name)
    teacher.load_state_dict(torch.load(args.path, weights_only=True))
    {switch}
    with torch.no_grad():
        for x in torch.load("data.pt", weights_only=True):
            print(teacher(x).argmax(-1)){mark}

if __name__ == "__main__":
    main(parse())
"""
    )
