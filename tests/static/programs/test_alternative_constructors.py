"""Objects that a class method or a function beside their class builds: the correct code, then the defect."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

NETWORK = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.fc = nn.Linear(width, 2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.fc(x))

def restored(path):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    return net
"""
PREDICTS = """
    def predict(self, x):
        with torch.no_grad():
            return self.net(x).argmax(-1).item(){mark}
"""
GIVEN = """
class Predictor:
    def __init__(self, net, names=()):
        self.net, self.names = net, names
"""
BY_CLASS_METHOD = (
    GIVEN
    + """
    @classmethod
    def from_checkpoint(cls, path, keep=False):
        net = restored(path)
        {ready}
        return cls(net)
"""
)
BY_STATIC_METHOD = (
    GIVEN
    + """
    @staticmethod
    def open(path, keep=False):
        net = restored(path)
        {ready}
        found = Predictor(net)
        return found
"""
)
BY_FUNCTION = (
    """
def open_predictor(path, keep=False):
    net = restored(path)
    {ready}
    return Predictor(net)
"""
    + GIVEN
)
LOADS_LATER = """
class Predictor:
    def __init__(self, width):
        self.net = Net(width)

    @classmethod
    def load(cls, path, width, keep=False):
        made = cls(width)
        made.net.load_state_dict(torch.load(path, weights_only=True))
        net = made.net
        {ready}
        return made
"""
FILLS_LATER = """
class Predictor:
    net = None

    @classmethod
    def load(cls, path, keep=False):
        made = cls()
        net = made.net = restored(path)
        {ready}
        return made
"""
INHERITED = """
class Loaded:
    def __init__(self, net):
        self.net = net

    @classmethod
    def from_checkpoint(cls, path, keep=False):
        net = cls.build()
        net.load_state_dict(torch.load(path, weights_only=True))
        {ready}
        return cls(net)

class Predictor(Loaded):
    @classmethod
    def build(cls):
        return Net()
"""
ALL = [BY_CLASS_METHOD, BY_STATIC_METHOD, BY_FUNCTION, LOADS_LATER, FILLS_LATER, INHERITED]


def program(text: str, ready: str = "pass", mark: str = "", predicts: str = PREDICTS) -> str:
    return NETWORK + (text + predicts).format(ready=ready, mark=mark)


@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("ready", ["net.eval()", "net.train(keep)", "if not keep: net.eval()"])
def test_a_constructor_that_readies_what_it_builds(lint: Lint, text: str, ready: str) -> None:
    lint(program(text, ready), rules=["ML101"])


@pytest.mark.parametrize("text", ALL)
def test_a_method_that_readies_what_a_constructor_built(lint: Lint, text: str) -> None:
    lint(program(text, predicts=PREDICTS.replace("with", "self.net.eval()\n        with")), rules=["ML101"])


def test_a_network_that_nobody_has_given_weights(lint: Lint) -> None:
    code = program(BY_CLASS_METHOD.replace("restored(path)", "Net()"))
    lint(code, rules=["ML101"])


def test_what_another_class_is_built_with(lint: Lint) -> None:
    another = "class Other(Predictor):\n    pass\n\ndef open_other(path):\n    return Other(restored(path))\n"
    lint(program(GIVEN) + another, rules=["ML101"])


@pytest.mark.parametrize("text", ALL)
def test_a_constructor_that_leaves_training_mode(lint: Lint, text: str) -> None:
    lint(program(text, mark="  # ML101"), rules=["ML101"])


CALLS = """
def main(path, x):
    predictor = {make}(path)
    {ready}
    print(predictor.predict(x))

if __name__ == "__main__":
    main("a.pt", torch.ones(1, 4))
"""
BUILT = """
class Predictor:
    def __init__(self, path):
        self.net = restored(path)
"""


def _files(text: str, make: str, apart: bool, ready: str = "pass", mark: str = "") -> Mapping[str, str]:
    calls = CALLS.format(make=make, ready=ready)
    code = program(text, mark=mark)
    return (
        {"zoo.py": code, "app.py": "import torch\nfrom zoo import *\n" + calls} if apart else {"app.py": code + calls}
    )


MAKERS = [(BUILT, "Predictor"), (BY_CLASS_METHOD, "Predictor.from_checkpoint"), (BY_FUNCTION, "open_predictor")]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(("text", "make"), MAKERS)
def test_a_caller_that_readies_what_is_in_the_object(lint: Lint, text: str, make: str, apart: bool) -> None:
    lint(_files(text, make, apart, ready="predictor.net.eval()"), rules=["ML101"])


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(("text", "make"), MAKERS)
def test_a_caller_that_does_not(lint: Lint, text: str, make: str, apart: bool) -> None:
    lint(_files(text, make, apart, mark="  # ML101"), rules=["ML101"])


FITTED = """
def ready(path):
    return restored(path).eval()

class Predictor:
    net = None

    @classmethod
    def load(cls, path):
        made = cls()
        made.net = ready(path)
        return made

    def fit(self, loader):
        self.net = Net()
        optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(self.net(x), y).backward()
            optimizer.step()
        {ready}
"""


@pytest.mark.parametrize(("ready", "mark"), [("self.net.eval()", ""), ("pass", "  # ML101")])
def test_a_class_that_trains_or_loads(lint: Lint, ready: str, mark: str) -> None:
    lint(program(FITTED, ready, mark), rules=["ML101"])


SAMPLES = """
class Sampler(Net):
    def sample(self, x):
        return self.fc(self.drop(x)).argmax(-1)
"""


def test_a_finding_names_what_stands_at_its_place(lint: Lint) -> None:
    zoo = NETWORK.replace("net = Net()", "net = Sampler()") + SAMPLES
    app = """
        from zoo import restored

        def predict(path, x):
            net = restored(path)
            return net.sample(x)  # ML101, ML201
    """
    found = lint({"zoo.py": zoo, "app.py": app}, check=["app.py"], rules=["ML101", "ML201"])
    assert all(diagnostic.message.startswith("`net.sample`") for diagnostic in found)
