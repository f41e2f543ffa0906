"""Loops in which one lap uses what another one has set."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from modellint.static.flow.carried import carried
from tests.static.conftest import Lint

LOOPS = {
    "set first": ("for x in xs:\n    net = make(x)\n    use(net)", set()),
    "the variable of the loop": ("for net in nets:\n    use(net)\n    net = None", set()),
    "read first": ("for x in xs:\n    use(net)\n    net = make(x)", {"net"}),
    "a sum": ("for x in xs:\n    total += x", {"total"}),
    "set in one branch, read in the other": (
        "while True:\n    if first:\n        n = f()\n    else:\n        g(n)",
        {"n"},
    ),
    "set in both branches": ("for x in xs:\n    if x:\n        n = 1\n    else:\n        n = 2\n    g(n)", set()),
    "set in a loop that may not run": ("for x in xs:\n    for y in x:\n        n = y\n    g(n)", {"n"}),
    "set in a block that may stop": ("for x in xs:\n    try:\n        n = f()\n    except E:\n        g(n)", {"n"}),
    "set under a switch": ("for x in xs:\n    with f() as n:\n        m = n\n    g(m)", set()),
    "a condition": ("for x in xs:\n    while n:\n        n = n - 1", {"n"}),
    "a definition": ("for x in xs:\n    def f():\n        pass\n    f()", set()),
}


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_lap_hands_to_the_next(name: str) -> None:
    text, names = LOOPS[name]
    loop = ast.parse(text).body[0]
    assert isinstance(loop, (ast.For, ast.While))
    assert carried(loop) == names


TRACKER = """
import torch
from trackers import Tracker

def start(image, model):
    state = dict()
    net = model
    net.template(image)
    state["net"] = net
    return state

def follow(state, image):
    net = state["net"]
    return net.track(image).{cut}cpu().numpy()

def run(model, video, first):
    for number, image in enumerate(video):
        if number == first:
            state = start(image, model)
        elif number > first:
            print(follow(state, image))

def main(video):
    model = Tracker(anchors=3)
    model.eval()
    {switch}
    run(model, video, 3)

main(open("video"))
"""


def test_a_model_that_an_earlier_lap_has_put_away(lint: Lint) -> None:
    program = TRACKER.format(cut="data.", switch="pass")
    marked = program.replace("data.cpu().numpy()", "data.cpu().numpy()  # ML201")
    lint(dedent(marked), rules=["ML201"])
    lint(dedent(TRACKER.format(cut="", switch="torch.set_grad_enabled(False)")), rules=["ML201"])
