"""Which functions are run on their own: those that no call in the file has shown in full."""

from __future__ import annotations

from typing import Any

import pytest

from modellint.static.flow.engine import FileAnalysis
from modellint.static.flow.machine import Machine
from modellint.static.flow.values import FunctionValue, Value
from modellint.static.project import FunctionInfo
from tests.static.conftest import Lint

HEAD = """
import contextlib
import functools
import sys
import torch
from torchvision.models import resnet18

def load():
    model = resnet18()
    model.load_state_dict(torch.load("weights.pt"))
    return model
"""

MAIN = """
def main(options):
    model = load()
    with torch.no_grad():
        for image in torch.load(options):
            print(model(image).argmax())  # ML101
"""


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that are run on their own, as they are run."""
    run, names = FileAnalysis._run_root, list[str]()

    def noted(self: FileAnalysis, function: FunctionInfo, *rest: Any) -> None:
        names.append(function.name)
        run(self, function, *rest)

    monkeypatch.setattr(FileAnalysis, "_run_root", noted)
    return names


@pytest.mark.parametrize(
    ("main", "call"),
    [
        pytest.param(MAIN.replace("(options)", "(options, deterministic=True)"), "main(sys.argv[1])", id="a default"),
        pytest.param(MAIN, "main('images.pt')", id="a constant"),
        pytest.param(MAIN.replace("torch.load(options)", "options(1)"), "main(lambda n: [n])", id="a function"),
        pytest.param(
            MAIN + "\n    def report(image):\n        return load()(image).argmax().item()\n    register(report)\n",
            "main(sys.argv[1])",
            id="a function inside that nobody called",
        ),
    ],
)
def test_a_call_that_may_not_show_everything_leaves_the_function_to_be_run(
    lint: Lint, roots: list[str], main: str, call: str
) -> None:
    if "report" in main:
        main = main.replace(".item()", ".item()  # ML101").replace("# ML101\n\n", "# ML101\n")
        lint(HEAD + "from handlers import register\n" + main + "\n" + call + "\n", rules=["ML101"])
    else:
        lint(HEAD + main + "\n" + call + "\n", rules=["ML101"])
    assert "main" in roots


@pytest.mark.parametrize("call", ["main(sys.argv[1])", "if __name__ == '__main__':\n    main(options=sys.argv[1])"])
def test_a_call_that_shows_everything_is_enough(lint: Lint, roots: list[str], call: str) -> None:
    lint(HEAD + MAIN + "\n" + call + "\n", rules=["ML101"])
    assert "main" not in roots


def test_a_file_that_runs_nothing_has_no_top_level_run(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: FileAnalysis) -> None:
        raise AssertionError("the top level was run")

    monkeypatch.setattr(FileAnalysis, "_run_top_level", fail)
    lint("import torch\nfrom torch import nn\n\nSIZES = [2 ** n for n in range(4)]\nHEAD = nn.Linear(4, 2)\n")


DATASET = """
import numpy as np
import random
import torch

class Molecules(torch.utils.data.Dataset):
    def __init__(self, path, transform):
        self.path = path
        self.pre_transform = transform

    def process(self):
        for item in random.sample(torch.load(self.path, weights_only=True), 3):
            torch.save(CALLED, "item.pt")
"""


@pytest.mark.parametrize(
    "called",
    ["self.pre_transform(item)", "np.clip(item, 0, 1)", "type(item)(map(int, item))", "self.tokenizer.encode(item)"],
)
def test_what_prepares_data_is_no_starting_point(lint: Lint, roots: list[str], called: str) -> None:
    lint(DATASET.replace("CALLED", called))
    assert roots == []


def test_what_prepares_data_with_a_network_is_one(lint: Lint, roots: list[str]) -> None:
    lint(DATASET.replace("CALLED", "self.embedder(item)"))
    assert "process" in roots


TOKENIZER = """
import torch

class WordTokenizer:
    def __init__(self, vocabulary):
        self.vocabulary = vocabulary

    def encode(self, text):
        return [self.vocabulary[word] for word in text.split()]

    def batch(self, texts):
        return torch.tensor([CALLED for text in texts]).tolist()
"""


def test_a_method_of_a_tokenizer_that_encodes_is_no_starting_point(lint: Lint, roots: list[str]) -> None:
    lint(TOKENIZER.replace("CALLED", "self.encode(text)"))
    assert roots == []


def test_a_method_of_a_tokenizer_that_runs_a_network_is_one(lint: Lint, roots: list[str]) -> None:
    lint(TOKENIZER.replace("CALLED", "self.encoder(text)"))
    assert "batch" in roots


FOREIGN = """
import torch
from {package} import Module

class Encoder(Module):
    def predict(self, batch):
        return self.decoder(torch.tensor(batch)).argmax().item()
"""


@pytest.mark.parametrize("package", ["keras.layers", "tensorflow.keras", "flax.linen"])
def test_a_model_of_another_framework_has_no_starting_points(lint: Lint, roots: list[str], package: str) -> None:
    lint(FOREIGN.format(package=package))
    assert roots == []


def test_a_class_that_inherits_from_what_nobody_knows_has(lint: Lint, roots: list[str]) -> None:
    lint(FOREIGN.format(package="blocks"))
    assert roots == ["predict"]


RUNNER = """
import torch

class Runner:
    def start(self):
        print(self.title())
        model = self.build()
        with torch.no_grad():
            return model(torch.ones(1, 3, 8, 8)).argmax().item()

    def title(self):
        return "runner"

    def build(self):
        raise NotImplementedError
"""


def test_an_inherited_method_is_not_run_for_a_class_that_overrides_only_what_is_inert(
    lint: Lint, roots: list[str]
) -> None:
    special = "\nclass Special(Runner):\n    def title(self):\n        return 'special'\n"
    lint(RUNNER + special)
    assert roots == ["start"]


@pytest.mark.parametrize(("base", "times"), [("raise NotImplementedError", 1), ("return self.made", 2)])
def test_an_inherited_method_is_run_for_a_class_that_overrides_what_builds_the_model(
    lint: Lint, roots: list[str], base: str, times: int
) -> None:
    head = "from torchvision.models import resnet18\n"
    special = "\nclass Special(Runner):\n    def build(self):\n        return resnet18(weights='DEFAULT').eval()\n"
    lint(head + RUNNER.replace("raise NotImplementedError", base) + special)
    assert roots == ["start"] * times  # an instance of a base that leaves this open does nothing


HELPERS = {
    "a generator": "def names(folder):\n    for name in sorted(folder):\n        yield name.strip()\n",
    "a cached function": "@functools.lru_cache\ndef names(folder):\n    print(folder)\n    return folder\n",
    "a context manager": "@contextlib.contextmanager\ndef names(folder):\n    print(folder)\n    yield\n",
    "an attribute of what is given": "def names(folder):\n    return folder.parts\n",
    "a text called model": "def names(options):\n    print(options.model.split('-'))\n    return options\n",
    "a random generator": "def names(generator):\n    generator.manual_seed(3)\n    return generator\n",
}


@pytest.mark.parametrize("helper", HELPERS.values(), ids=HELPERS)
def test_helpers_that_can_have_nothing_to_do_with_models_are_not_run(
    lint: Lint, monkeypatch: pytest.MonkeyPatch, helper: str
) -> None:
    activate, run = Machine.activate, list[str]()

    def noted(self: Machine, callee: FunctionValue, *rest: Any) -> Value:
        run.append(callee.function.name)
        return activate(self, callee, *rest)

    monkeypatch.setattr(Machine, "activate", noted)
    caller = "\ndef described(options):\n    found = names(options)\n    return found\n"
    main = MAIN.replace("model = load()", "model = load()\n    print(described(options))")
    lint(HEAD + helper + caller + main + "\nmain(sys.argv[1])\n", rules=["ML101"])
    assert "load" in run
    assert "described" not in run


def test_a_branch_that_returns_keeps_what_it_saw(lint: Lint) -> None:
    lint(
        HEAD
        + """
def prepared(options):
    model = load()
    if options.quick:
        model.eval()
        if options.half:
            return model
        options.device = "cpu"
    else:
        model.eval()
    return model

def predict(options, image):
    with torch.no_grad():
        return prepared(options)(image).argmax().item()
""",
        rules=["ML101"],
    )


TRAINED = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(4, 2))

    def forward(self, x):
        return self.layers(x)

def evaluate(net, images):
    with torch.no_grad():
        return net(images).argmax(-1).tolist()  # ML101

def run(options):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(3):
        net.train()
        for images, labels in torch.load(options):
            torch.nn.functional.cross_entropy(net(images), labels).backward()
            optimizer.step()
        for batch in torch.load("held_out.pt"):
            print(evaluate(net, batch))
"""


def test_what_is_run_from_the_bottom_of_the_file_of_a_model_is_more_than_a_try(lint: Lint, roots: list[str]) -> None:
    lint(HEAD + TRAINED + "\nrun(sys.argv[1])\n", rules=["ML101"])
    assert "run" not in roots


def test_what_was_not_seen_to_the_end_is_run_again(
    lint: Lint, roots: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("modellint.static.flow.engine.MAX_STEPS", 200)
    lint(HEAD + MAIN + "\nmain(sys.argv[1])\n" + "print('done')\n" * 500, rules=["ML101"])
    assert "main" in roots


@pytest.mark.parametrize("mode", ["model.eval()", "print(options)"])
def test_what_takes_too_long_in_a_call_is_run_again_in_haste(
    lint: Lint, roots: list[str], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Branches that are kept apart make a long function of `main`: joined early, it is seen to the end."""
    for place in ("machine", "engine"):
        monkeypatch.setattr(f"modellint.static.flow.{place}.MAX_STEPS", 150)
    paths = "".join(f"    other{n} = load()\n    if options.part{n}:\n        other{n}.eval()\n" for n in range(4))
    steps = "".join(f"    print({n})\n" for n in range(60))
    body = MAIN.replace("model = load()\n", f"model = load()\n    {mode}\n{paths}{steps}")
    if mode == "model.eval()":
        body = body.replace("  # ML101", "")
    hasty: list[bool] = []
    run = Machine.activate

    def activate(self: Machine, callee: FunctionValue, *args: Any) -> Value:
        if callee.function.name == "main":
            hasty.append(self.in_haste)
        return run(self, callee, *args)

    monkeypatch.setattr(Machine, "activate", activate)
    lint(HEAD + body + "\nmain(sys.argv[1])\n", rules=["ML101"])
    assert "main" in roots
    assert hasty == [False, True]


def test_what_a_call_showed_for_one_branch_before_it_stays_when_it_is_too_long_for_another(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call gets half of what is left: it is seen to the end the first time here, the second time it is not."""
    ended: list[bool] = []
    run = Machine.activate

    def activate(self: Machine, callee: FunctionValue, *args: Any) -> Value:
        if callee.function.name != "step" or not self.frames:
            return run(self, callee, *args)
        ended.append(False)
        value = run(self, callee, *args)
        ended[-1] = True
        return value

    monkeypatch.setattr(Machine, "activate", activate)
    lint(
        HEAD
        + f"""
class Tracker:
    def __init__(self, net):
        self.net = net

    def step(self, frame):
        boxes = self.net(frame)  # ML201
        self.shown = boxes.argmax()
{LONG}

def main(frame, options):
    tracker = Tracker(load().eval())
    if options.fast:
        tracker.scale = True
    else:
        tracker.scale = False
    tracker.step(frame)
""",
        rules=["ML201"],
    )
    assert ended[:2] == [True, False]


LONG = "\n".join(f"        if frame.sum() > {n}:\n            self.kept = {n}" for n in range(2500))


EVALUATE = """
import torch

def evaluate(model, images):
    for image in images:
        print(model(image).argmax().item())  # ML101
"""
SCRIPT = """
import sys
import torch
from evaluation import evaluate
from torchvision.models import resnet18

def main(path, limit=len(sys.argv)):
    model = resnet18()
    model.load_state_dict(torch.load(path, weights_only=True))
    evaluate(model, torch.load("images.pt", weights_only=True)[:limit])
"""


@pytest.mark.parametrize(
    ("call", "again"), [("main(sys.argv[1])", False), ("main(sys.argv[1], 3)", True), ("print(sys.argv)", True)]
)
def test_a_caller_is_run_as_its_script_runs_it(lint: Lint, roots: list[str], call: str, again: bool) -> None:
    files = {"evaluation.py": EVALUATE, "run.py": f"{SCRIPT}\nif __name__ == '__main__':\n    {call}\n"}
    lint(files, check=["evaluation.py"], rules=["ML101"])
    assert ("main" in roots) is again
