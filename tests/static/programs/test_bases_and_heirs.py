"""What a base class leaves open, and classes that inherit from it fill: the correct code, then the defect."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint
from tests.static.programs.test_alternative_constructors import NETWORK

EMPTY = """
class Predictor:
    def __init__(self):
        self.net = None
"""
EMPTY_CLASS = """
class Predictor:
    net = None
"""
ASKS = """
class Predictor:
    def __init__(self, path):
        self.net = self.build(path)

    def build(self, path):
        raise NotImplementedError
"""
ABSTRACT = (
    """
import abc

class Predictor(abc.ABC):
    def __init__(self, path):
        self.net = self.build(path)

    @abc.abstractmethod
    def build(self, path):
        """
    + '"""Return the network."""'
    + """
"""
)
PREDICTS = """
    def predict(self, x):
        with torch.no_grad():
            return self.scores(x).argmax(-1)

    def scores(self, x):
        return self.net(x){mark}
"""
FILLS = """
class Restored(Predictor):
    def __init__(self, path):
        super().__init__()
        self.net = restored(path)
        {ready}
"""
BUILDS = """
class Restored(Predictor):
    def build(self, path):
        self.net = restored(path)
        {ready}
        return self.net
"""
PAIRS = [(EMPTY, FILLS), (EMPTY_CLASS, FILLS), (ASKS, BUILDS), (ABSTRACT, BUILDS)]


@pytest.mark.parametrize(("base", "heir"), PAIRS)
@pytest.mark.parametrize("apart", [False, True])
def test_an_heir_that_readies_what_it_fills_in(lint: Lint, base: str, heir: str, apart: bool) -> None:
    code = NETWORK + (base + PREDICTS).format(mark="")
    heirs = heir.format(ready="self.net.eval()")
    files = {"base.py": code, "app.py": "from base import *\n" + heirs} if apart else {"app.py": code + heirs}
    lint(files, rules=["ML101"])


def test_a_base_that_is_used_itself_is_left_to_its_callers(lint: Lint) -> None:
    given = EMPTY.replace("(self)", "(self, net)").replace("None", "net")
    lint(NETWORK + (given + PREDICTS).format(mark=""), rules=["ML101"])


@pytest.mark.parametrize(("base", "heir"), PAIRS)
def test_an_heir_that_does_not(lint: Lint, base: str, heir: str) -> None:
    lint(NETWORK + (base + PREDICTS).format(mark="  # ML101") + heir.format(ready="pass"), rules=["ML101"])


DETACHES = """
    def predict(self, x):
        return {scores}.detach().cpu().numpy(){mark}
"""


@pytest.mark.parametrize(
    ("base", "mark"),
    [
        (EMPTY.replace("net", "metric"), ""),
        (EMPTY + "\n    def load(self, path):\n        self.net = open(path).read()\n", ""),
        (EMPTY, "  # ML201"),
    ],
)
def test_what_nobody_in_sight_fills(lint: Lint, base: str, mark: str) -> None:
    scores = "self.metric(x)" if "metric" in base else "self.net(x)"
    lint(NETWORK + base + DETACHES.format(scores=scores, mark=mark), rules=["ML201"])
