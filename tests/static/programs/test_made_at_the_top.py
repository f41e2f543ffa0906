"""Objects of a file's top level that its functions use: correct code first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

PROJECT = {
    "corpus.py": """
class Corpus:
    def __init__(self, rows):
        self.rows = rows

    def rank(self, net):
        for row in self.rows:
            print(net.batch_test(row).argmax())
""",
    "net.py": NET
    + """
            def batch_test(self, x):
                return self.drop(x)
""",
    "shared.py": """
from corpus import Corpus

corpus = Corpus(open("rows.txt").readlines())
""",
}
MAIN = """
import torch
from net import Net
{given}

def evaluate(path):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    {ready}
    with torch.no_grad():
        {call}

{helper}
evaluate("net.pt")
"""
OWN = 'from corpus import Corpus\n\ncorpus = Corpus(open("rows.txt").readlines())'
SHARED = "from shared import corpus"
HELPER = "def rank(net):\n    corpus.rank(net)\n"


def main(given: str, ready: str, call: str, helper: str = "") -> dict[str, str]:
    return {**PROJECT, "main.py": MAIN.format(given=given, ready=ready, call=call, helper=helper)}


@pytest.mark.parametrize("given", [OWN, SHARED])
def test_a_model_that_was_readied(lint: Lint, given: str) -> None:
    lint(main(given, "net.eval()", "corpus.rank(net)"), rules=["ML101"], check=["main.py"])


def test_a_function_that_is_given_the_object_knows_nothing_of_it(lint: Lint) -> None:
    helper = "def rank(corpus, net):\n    corpus.rank(net)\n"
    lint(main(OWN, "pass", "rank(OTHER, net)", helper), rules=["ML101"], check=["main.py"])


@pytest.mark.parametrize("given", [OWN, SHARED])
def test_a_model_that_was_not(lint: Lint, given: str) -> None:
    lint(main(given, "pass", "corpus.rank(net)  # ML101"), rules=["ML101"], check=["main.py"])


@pytest.mark.parametrize("given", [OWN, SHARED])
def test_through_a_function_that_speaks_of_nothing(lint: Lint, given: str) -> None:
    files = main(given, "pass", "rank(net)", HELPER.replace("rank(net)\n", "rank(net)  # ML101\n"))
    files["corpus.py"] = files["corpus.py"].replace("net.batch_test(row)", "net(row)")
    lint(files, rules=["ML101"], check=["main.py"])
