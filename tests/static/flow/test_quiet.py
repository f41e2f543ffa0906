"""Calls that need not be run: helpers on the way to a forward, and those that only look like helpers."""

from __future__ import annotations

import pytest

from modellint.static.flow.frames import Frame
from modellint.static.flow.machine import Machine
from modellint.static.flow.state import State
from modellint.static.flow.values import Grad, Value
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
    "a helper out of a table that puts the model into eval": """
def freeze(thing):
    thing.eval()
    return thing

STEPS = {"freeze": freeze}

def prepare(thing):
    return STEPS["freeze"](thing)
""",
    "a function out of a table that sets what a condition asks": """
class Options:
    def __init__(self):
        self.ready = False

def finish(options):
    options.ready = True

STEPS = {"finish": finish}

class Names:
    def __init__(self, folder):
        self.all = os.listdir(folder)

def steps(options):
    names = Names(".")
    STEPS["finish"](options)
    print(names)

def prepare(thing):
    options = Options()
    options.ready = False
    steps(options)
    if options.ready:
        thing.eval()
    return thing
""",
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that the flow analysis runs, one by one."""
    names: list[str] = []
    body = Machine.run_body

    def watched(machine: Machine, frame: Frame, work: State, state: State, switch: Grad | None = None) -> Value:
        names.append(frame.function.name)
        return body(machine, frame, work, state, switch)

    monkeypatch.setattr(Machine, "run_body", watched)
    return names


@pytest.mark.parametrize("prepare", SILENT.values(), ids=SILENT)
def test_what_helpers_do_to_models_is_seen(lint: Lint, prepare: str) -> None:
    lint(HEAD + LOAD + prepare + TAIL, rules=["ML101"])


WEIGHTLESS = """
class Scale(torch.nn.Module):
    def forward(self, x):
        return x * 2

class Pipeline:
    def __init__(self):
        self.net = Scale()

def in_a_list():
    return [Scale()]

def in_an_object():
    return Pipeline()

def alone():
    return Scale()

@torch.no_grad()
def evaluate_all(images):
    for image in images:
        print(resnet18().eval()(image).argmax())

def evaluate(images):
    MAKE
    for image in images:
        print(net(image).argmax())

def evaluate_one(images):
    pipeline = in_an_object()
    for image in images:
        print(pipeline.net(image).argmax())
"""


@pytest.mark.parametrize("make", ["net = in_a_list()[0]", "net, = in_a_list()", "net = alone()"])
def test_a_module_without_weights_stays_one_when_a_helper_makes_it(lint: Lint, make: str) -> None:
    lint(HEAD + WEIGHTLESS.replace("MAKE", make), rules=["ML101", "ML201"])


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


PASSED_OVER = {
    "an object with a setter": """
class Count:
    def __init__(self, start):
        self._value = start

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, new):
        self._value = new

def helper(folder):
    counts = [Count(len(name)) for name in os.listdir(folder)]
    return sum(count.value for count in counts)
""",
    "a function that a library decorates": """
from numba import njit

class Numbers:
    def __init__(self, folder):
        self.all = [len(name) for name in os.listdir(folder)]

@njit
def total(numbers):
    return sum(Numbers(numbers).all)

def helper(folder):
    return total(folder)
""",
    "functions in a table": """
def short(name):
    return name[:3]

def plain(name):
    return name

KINDS = {"short": short, "plain": plain}

def helper(folder):
    return [KINDS[name](name) for name in os.listdir(folder)]
""",
    "a transform that is a module": """
class Flip(torch.nn.Module):
    def forward(self, image):
        return image.flip(-1)

def helper(folder):
    flip = Flip()
    return sum(len(name) for name in os.listdir(folder))
""",
    "a question to the compiler": """
def helper(folder):
    return 0 if torch.jit.is_scripting() else len(os.listdir(folder))
""",
    "a list that is called a policy": """
class Augment:
    def __init__(self, policy):
        self.policy = policy

def helper(folder):
    augment = Augment(sorted(os.listdir(folder)))
    return len(folder)
""",
    "features with a target": """
class Names:
    def __init__(self, folder):
        self.all = os.listdir(folder)

def features(folder):
    return *sorted(Names(folder).all), 0

def helper(folder):
    return len(features(folder))
""",
}


@pytest.mark.parametrize("helper", PASSED_OVER.values(), ids=PASSED_OVER)
def test_a_helper_without_models_is_not_run(lint: Lint, helper: str, run: list[str]) -> None:
    tail = """
def evaluate(folder):
    print(helper(folder))
    model = load(folder)
    with torch.no_grad():
        print(model(torch.zeros(1)).argmax())  # ML101
"""
    lint(HEAD + LOAD + helper + tail, rules=["ML101"])
    assert run == ["evaluate", "load"]


def test_numbers_of_starting_points_are_forgotten_behind_them(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[set[object]] = []
    forget = Machine.forget_numbers

    def watched(machine: Machine) -> None:
        before = set(machine.keys().values())
        forget(machine)
        kept.append(before - set(machine.keys().values()))
        assert ("self", next(cls for cls in machine.main.classes)) in machine.keys().values()

    monkeypatch.setattr(Machine, "forget_numbers", watched)
    tail = """
class Judge:
    def __init__(self, folder):
        self.model = load(folder)

    def judge(self, image):
        with torch.no_grad():
            return self.model(image).argmax()  # ML101
"""
    lint(HEAD + LOAD + tail, rules=["ML101"])
    (gone,) = kept
    assert any(isinstance(key, tuple) and key[0] == "argument" for key in gone)
