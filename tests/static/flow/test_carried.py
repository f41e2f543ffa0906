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


COMMANDS = """
import torch
from torchvision.models import resnet18

def serve(commands, x):
    for command in commands:
        if command == "load":
            net = resnet18(weights="DEFAULT")
        elif command == "eval":
            net.eval()
        else:
            with torch.no_grad():
                print(net(x).argmax(1))
"""


def test_what_comes_after_what_is_only_possible(lint: Lint) -> None:
    lint(COMMANDS, rules=["ML101", "ML201"])
    lint(COMMANDS.replace(".argmax(1))", ".argmax(1))  # ML101"), rules=["ML101", "ML201"], possible=True)


CONTINUAL = """
import torch
from torchvision.models import resnet18

def test(net, held_out):
    with torch.no_grad():
        for x, y in held_out:
            print((net(x).argmax(1) == y).sum())

def fit(net, loader, optimizer):
    for x, y in loader:
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

def continual(tasks, args):
    for number, task in enumerate(tasks):
        for seed in args.seeds:
            if number == 0:
                net = resnet18(weights="DEFAULT")
                optimizer = torch.optim.Adam(net.parameters())
            if task.name == "first":
                net.fc = torch.nn.Linear(512, 10)
            if task.name == "second":
                net.fc = torch.nn.Linear(512, 100)
            if task.name == "third":
                net.fc = torch.nn.Linear(512, 1000)
            if args.test:
                net.eval()
            else:
                net.train()
            if args.test:
                test(net, task.held_out)
            else:
                fit(net, task.loader, optimizer)
"""


def test_a_later_lap_says_nothing_new_of_what_was_seen(lint: Lint) -> None:
    lint(CONTINUAL, rules=["ML101", "ML103"])
