"""Results that nobody differentiates, on roads that the flow has to follow: correct code first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

EXTENDED = """
import torch
from torchvision.models import resnet18

def collect(path, batches):
    net = resnet18()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    rows = []
    for batch in batches:
        {first}
    return {last}
"""


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("rows.extend(net(batch))", "torch.stack(rows)"),
        ("rows.extend(len(batch) for _ in batch)", "rows"),
        ("rows.extend(net(batch))  # ML201", "[row.detach().numpy() for row in rows]"),
    ],
)
def test_rows_of_a_tensor_in_a_list_carry_its_graph(lint: Lint, first: str, last: str) -> None:
    lint({"app.py": EXTENDED.replace("{first}", first).replace("{last}", last)}, rules=["ML201"])


CACHED = """
import torch
from functools import cached_property
from torchvision.models import resnet18

class Labeler:
    def __init__(self, path):
        self.path = path

    @{kind}
    def net(self):
        return torch.load(self.path, weights_only=False)

    def label(self, image):
        self.net.eval()
        {use}
"""


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("cached_property", "with torch.no_grad(): return self.net(image).argmax(1).tolist()"),
        ("cached_property", "return self.net(image).argmax(1).tolist()  # ML201"),
    ],
)
def test_a_cached_property_is_one_object(lint: Lint, kind: str, use: str) -> None:
    lint({"labeler.py": CACHED.replace("{kind}", kind).replace("{use}", use)}, rules=["ML101", "ML201"])


NEW = {
    "networks.py": """
    from torch import nn

    class Wide(nn.Module):
        def __init__(self):
            super().__init__()
            self.out, self.drop = nn.Linear(4, 4), nn.Dropout(0.1)

        def initial_inference(self, x):
            return self.out(self.drop(x)), self.drop(x)

    class Network:
        def __new__(cls, kind):
            {make}
    """,
    "diagnose.py": """
    import torch
    from networks import Network

    def diagnose(path, x):
        net = Network("wide")
        net.load_state_dict(torch.load(path, weights_only=True))
        net.eval()
        {use}
    """,
}


@pytest.mark.parametrize(
    ("make", "use"),
    [
        ("return Wide()", "with torch.no_grad(): print(net.initial_inference(x)[0].argmax(1).tolist())"),
        ("return Wide()", "print(net.initial_inference(x)[0].argmax(1).tolist())  # ML201"),
        ("return super().__new__(cls)", "print(net.name)"),
    ],
)
def test_a_class_that_makes_another(lint: Lint, make: str, use: str) -> None:
    files = {name: text.replace("{make}", make).replace("{use}", use) for name, text in NEW.items()}
    lint(files, rules=["ML101", "ML201"], check=["diagnose.py"])


PROJECT = {
    "evaluator.py": """
    def evaluate(net, batches):
        return sum((net.recognize(x).argmax(1) == y).sum().item() for x, y in batches){mark}
    """,
    "train.py": """
    import torch.nn.functional as F
    from evaluator import evaluate
    {import}

    def fit(net, batches, optimizer):
        for x, y in batches:
            F.cross_entropy(net(x), y).backward()
            optimizer.step()

    def report(net, batches):
        return evaluate(net, batches)
    """,
}


@pytest.mark.parametrize(
    ("imported", "mark"),
    [("from torch import no_grad", ""), ("from lightning import Trainer", ""), ("import math", "  # ML201")],
)
def test_a_project_without_a_switch(lint: Lint, imported: str, mark: str) -> None:
    text = PROJECT["train.py"].replace("{import}", imported)
    files = {"evaluator.py": PROJECT["evaluator.py"].replace("{mark}", mark), "train.py": text}
    lint(files, rules=["ML201"], check=["evaluator.py"])


NAMED = """
from multiprocessing import Pool
import torch
from torchvision.models import resnet18

net = resnet18()
net.load_state_dict(torch.load("net.pt", weights_only=True))
net.eval()

def test_one(image):
    return net(image).argmax(1).tolist(){mark}

{rest}
"""


@pytest.mark.parametrize(
    ("rest", "mark"),
    [
        ("def test_two(image):\n    assert test_one.__doc__ is None", ""),
        ("def run(images):\n    return Pool(2).map(test_one, images)", "  # ML201"),
    ],
)
def test_a_function_named_like_a_test_that_the_file_runs(lint: Lint, rest: str, mark: str) -> None:
    lint({"batch_test.py": NAMED.replace("{rest}", rest).replace("{mark}", mark)}, rules=["ML201"])


ACTOR = {
    "actor.py": """
    class Actor:
        def __init__(self, task):
            self._task, self._network = task, None
            {begin}

        def _transition(self, state):
            q_values = self._network(state).detach().cpu().numpy(){mark}
            return self._task.step([q_values.argmax()])
    """,
    "agent.py": """
    import torch

    def run(actor, states):
        {run}
    """,
}
_RECORDED = "return [actor.step(state) for state in states]"
_SWITCHED = "with torch.no_grad(): return [actor.step(state) for state in states]"
_NAMED = "self.step = self._transition"


@pytest.mark.parametrize(
    ("begin", "run", "mark"),
    [
        (_NAMED, _SWITCHED, ""),
        (f"{_NAMED}; task.prepare(self._transition)", _RECORDED, ""),
        (f"{_NAMED}; self.run, = [self._transition]", _RECORDED, ""),
        (f"{_NAMED}; run = self._transition; task.prepare(run)", _RECORDED, ""),
        ("task.prepare(self._transition)", _RECORDED, ""),
        (_NAMED, _RECORDED, "  # ML201"),
        (f"{_NAMED}; task.first = self._transition(None)", _RECORDED, "  # ML201"),
    ],
)
def test_an_actor_whose_step_gets_its_name_when_it_is_made(lint: Lint, begin: str, run: str, mark: str) -> None:
    text = ACTOR["actor.py"].replace("{begin}", begin).replace("{mark}", mark)
    lint({"actor.py": text, "agent.py": ACTOR["agent.py"].replace("{run}", run)}, rules=["ML201"], check=["actor.py"])


PLAYED = """
import torch

class Agent:
    def __init__(self, task, network):
        self.task, self.network = task, network

    def turn(self, state):
        action = self.network(state).argmax(1).cpu().numpy(){mark}
        {step}
        return following, reward
"""


@pytest.mark.parametrize(
    ("step", "mark"),
    [
        ("following, loss, done, _ = self.task.step(action); reward = loss", ""),
        ("following, reward, rest, _ = self.task.step(action)", ""),
        ("following, reward, done, _ = self.task.step([0])", ""),
        ("following = self.task.step(action); reward = done = None", ""),
        ("following, reward, done, _ = self.task.step(action)", "  # ML201"),
        ("following, reward, done, _ = self.task.step([action])", "  # ML201"),
        ("following, rewards, terminals, _ = self.env.step([action]); reward = rewards", "  # ML201"),
    ],
)
def test_a_task_that_rewards_a_step_is_an_environment(lint: Lint, step: str, mark: str) -> None:
    text = PLAYED.replace("{step}", step).replace("{mark}", mark)
    lint(text, rules=["ML201"])
