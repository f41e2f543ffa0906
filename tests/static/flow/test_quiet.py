"""Calls that need not be run: helpers on the way to a forward, and those that only look like helpers."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

HEAD = """
import os
import torch
from torchvision.models import resnet18

"""

TAIL = """

def evaluate(folder):
    model = prepare(load(folder))
    with torch.no_grad():
        for image in torch.load("images.pt"):
            print(model(image).argmax())
"""

LOAD = """
def load(folder):
    model = resnet18()
    model.load_state_dict(torch.load(os.path.join(folder, "weights.pt")))
    return model
"""

SILENT = {
    "a helper that is given a model and puts it into eval": """
def prepare(thing):
    folders = [name for name in os.listdir(".")]
    print(len(folders))
    thing.eval()
    return thing
""",
    "a helper that reads the model from a global": """
holder = []

def prepare(thing):
    holder.append(thing)
    freeze()
    return holder[0]

def freeze():
    for part in holder:
        part.eval()
""",
}


@pytest.mark.parametrize("prepare", SILENT.values(), ids=SILENT)
def test_what_helpers_do_to_models_is_seen(lint: Lint, prepare: str) -> None:
    lint(HEAD + LOAD + prepare + TAIL, rules=["ML101"])


def test_a_helper_without_models_is_passed_over_and_its_caller_judged(lint: Lint) -> None:
    prepare = """
def prepare(thing):
    names = listing(os.getcwd())
    print(names)
    return thing

def listing(folder):
    names = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            names.append(name)
    return names
"""
    tail = TAIL.replace("print(model(image).argmax())", "print(model(image).argmax())  # ML101")
    lint(HEAD + LOAD + prepare + tail, rules=["ML101"])
