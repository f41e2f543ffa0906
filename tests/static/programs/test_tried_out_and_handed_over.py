"""Models tried out before they learn, functions given to others, files that know no mode: correct code first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

TRIED = {
    "net.py": """
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.out, self.drop = nn.Linear(4, 2), nn.Dropout(0.5)

        def forward(self, x):
            return self.out(self.drop(x))
    """,
    "train.py": """
    import torch
    from torch.nn.functional import cross_entropy
    from net import Net

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [(torch.rand(8, 4), torch.zeros(8, dtype=torch.long)) for _ in range(10)]
    {before}
    for x, y in batches:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
    {after}
    """,
}
LOOK = "with torch.no_grad(): print(model(batches[0][0]).argmax(1))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LOOK, "print('trained')"),
        ("print('begin')", f"{LOOK}  # ML101"),
        (f"model.load_state_dict(torch.load('net.pt'))\n    {LOOK}  # ML101", "print('trained')"),
    ],
)
def test_a_model_that_has_learned_nothing_is_tried_out(lint: Lint, before: str, after: str) -> None:
    files = {name: text.replace("{before}", before).replace("{after}", after) for name, text in TRIED.items()}
    lint(files, rules=["ML101"], check=["train.py"])


GIVEN = """
import torch
from {library} import {name}
from torchvision.models import resnet18

def explain(images, path):
    net = resnet18()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()

    def predict(x):
        return net(x).argmax(1).tolist(){mark}

    {use}
"""


@pytest.mark.parametrize(
    ("library", "name", "use", "mark"),
    [
        ("captum.attr", "Saliency", "return Saliency(predict).attribute(images)", ""),
        ("captum.attr", "Saliency", "return Saliency(forward_func=predict).attribute(images)", ""),
        ("captum.attr", "Saliency", "return predict(images)", "  # ML201"),
        ("gradio", "Interface", "return Interface(predict, 'image', 'label')", "  # ML201"),
        ("rospy", "Subscriber", "return Subscriber('/camera', images, predict)", "  # ML201"),
    ],
)
def test_an_inner_function_is_given_away(lint: Lint, library: str, name: str, use: str, mark: str) -> None:
    text = GIVEN.replace("{library}", library).replace("{name}", name).replace("{use}", use).replace("{mark}", mark)
    lint({"explain.py": text}, rules=["ML201"])


PARTS = """
import torch
from torch import nn

class Records(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
        self.prompt = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return self.body(x + self.prompt)

    def training_step(self, x, y, optimizer):
        loss = nn.functional.cross_entropy(self.forward(x), y)
        loss.backward()
        optimizer.step()

    @torch.no_grad()
    def predict(self, x):
        {ready}
        return self.forward(x).argmax(1).tolist(){mark}
"""


@pytest.mark.parametrize(("ready", "mark"), [("self.body.eval()", ""), ("x = x.float()", "  # ML101")])
def test_the_only_part_with_a_mode_is_readied(lint: Lint, ready: str, mark: str) -> None:
    lint({"records.py": PARTS.replace("{ready}", ready).replace("{mark}", mark)}, rules=["ML101"])


AGENTS = {
    "agents.py": """
    from torch import nn

    class Actor(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Sequential(nn.Linear(4, 4), nn.ReLU(){near})

        def forward(self, x):
            return self.out(x)

    class Agent:
        def __init__(self):
            self.act = Actor()
    """,
    "elsewhere.py": """
    from torch import nn

    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)
    """,
    "show.py": """
    import torch
    import agents

    @torch.no_grad()
    def show(agent_class, path, x):
        actor = agent_class().act
        actor.load_state_dict(torch.load(path, weights_only=True))
        return actor(x).argmax(1).tolist(){mark}
    """,
}


@pytest.mark.parametrize(("near", "mark"), [("", ""), (", nn.Dropout(0.1)", "  # ML101")])
def test_files_at_hand_have_modules_without_a_mode(lint: Lint, near: str, mark: str) -> None:
    files = {name: text.replace("{near}", near).replace("{mark}", mark) for name, text in AGENTS.items()}
    lint(files, rules=["ML101"], check=["show.py"])


SERVED = """
import numpy
import {library} as nn
import {functions} as F

def evaluate(path, batches):
    module = nn.load_module(path)
    module.eval()
    return [F.argmax(module.forward(F.const(batch)), 1).read() for batch in batches]
"""


def test_mnn_is_another_framework(lint: Lint) -> None:
    lint({"serve.py": SERVED.replace("{library}", "MNN.nn").replace("{functions}", "MNN.expr")}, rules=["ML201"])
