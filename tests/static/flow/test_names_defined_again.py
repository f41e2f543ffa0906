"""A name that a file defines more than once, as the cells of a notebook do: each definition holds until the next."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PLAIN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)
"""
DROPPING = PLAIN.replace("nn.Linear(4, 2)", "nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5))")
PREDICT = """
net = Net()
net.load_state_dict(torch.load("net.pt", weights_only=True))
with torch.no_grad():
    print(net(x).argmax(-1)){mark}
"""
HEAD = "import torch\nfrom torch import nn\n\nx = torch.ones(1, 4)\n"


@pytest.mark.parametrize(
    ("before", "after", "mark"),
    [
        (PLAIN, DROPPING, "  # ML101:info"),
        (DROPPING, PLAIN, "  # ML101"),
        (PLAIN, "", "  # ML101:info"),
    ],
    ids=["dropout comes later", "dropout came before", "defined once"],
)
def test_a_model_is_of_the_class_as_it_stood_when_it_was_built(lint: Lint, before: str, after: str, mark: str) -> None:
    lint(HEAD + before + PREDICT.format(mark=mark) + after, rules=["ML101"])


PREPARED = """
def prepare(net):
    {first}
    return net

net = torch.hub.load("pytorch/vision", "resnet50", weights="DEFAULT")
net = prepare(net.train())
with torch.no_grad():
    print(net(x).argmax(-1)){mark}

def prepare(net):
    {second}
    return net
"""


@pytest.mark.parametrize(
    ("first", "second", "mark"), [("net.eval()", "net.train()", ""), ("net.cuda()", "net.eval()", "  # ML101")]
)
def test_a_function_is_called_as_it_stood(lint: Lint, first: str, second: str, mark: str) -> None:
    lint(HEAD + PREPARED.format(first=first, second=second, mark=mark), rules=["ML101"])


CHOSEN = """
try:
    import fast
    def ready(net):
        {one}
        return net
except ImportError:
    def ready(net):
        {other}
        return net

net = torch.hub.load("pytorch/vision", "resnet50", weights="DEFAULT").train()
net = ready(net)
with torch.no_grad():
    print(net(x).argmax(-1)){mark}
"""


@pytest.mark.parametrize(
    ("one", "other", "mark"), [("net.eval()", "net.eval()", ""), ("net.half()", "net.cuda()", "  # ML101")]
)
def test_one_of_two_definitions_holds(lint: Lint, one: str, other: str, mark: str) -> None:
    lint(HEAD + CHOSEN.format(one=one, other=other, mark=mark), rules=["ML101"])
