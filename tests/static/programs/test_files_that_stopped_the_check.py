"""Shapes of files on which the whole analysis ended early: the file counts as checked, and its defects are found."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

READER = """
def pairs(sources, targets):
    while True:
        try:
            left = [next(source) for source in sources]
            right = [next(target) for target in targets]
        except StopIteration:
            break
        yield left, right
"""

VALIDATE = """
import torch
from reader import pairs

def validate(model, sources, targets):
    {mode}
    with torch.no_grad():
        for left, right in pairs(sources, targets):
            print(model(torch.tensor(left)).argmax(-1).tolist())  # {validates}

def fit(model, sources, targets, optimizer):
    model.train()
    for left, right in pairs(sources, targets):
        optimizer.zero_grad()
        model(torch.tensor(left)).sum().backward()  # {trains}
        optimizer.step()
        validate(model, sources, targets)
"""


@pytest.mark.parametrize(
    ("mode", "validates", "trains"), [("model.eval()", "fine", "ML103"), ("pass", "ML101", "fine")]
)
def test_a_generator_may_end_before_what_it_yields_was_made(
    mode: str, validates: str, trains: str, lint: Lint
) -> None:
    """`while True` is left only by the exception: the state after it knows nothing of the lists of the lap."""
    program = VALIDATE.format(mode=mode, validates=validates, trains=trains)
    lint({"reader.py": READER, "fit.py": program}, check=["fit.py"], rules=["ML101", "ML103"])


TOOLBOX = """
import sys
import torch
from torch import nn

book = sys.modules[__name__]
ones = torch.ones
tensor = torch.tensor

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x)

def train(net, data_iter, test_iter, optimizer):
    net.train()
    for X, y in data_iter:
        optimizer.zero_grad()
        net(X).sum().backward()
        optimizer.step()
    return accuracy(net, test_iter)

def accuracy(net, test_iter):
    {mode}
    correct = 0
    with torch.no_grad():
        for X, y in test_iter:
            correct += (net(X).argmax(1) == y).sum().item()  # {mark}
    return correct
"""


@pytest.mark.parametrize("package", [True, False])
@pytest.mark.parametrize(("mode", "mark"), [("net.eval()", "fine"), ("pass", "ML101")])
def test_a_file_that_is_named_after_the_library_it_imports(package: bool, mode: str, mark: str, lint: Lint) -> None:
    """`import torch` in book/torch.py means the library, not the file itself."""
    files = {"book/torch.py": TOOLBOX.format(mode=mode, mark=mark), "book/notes.py": "from book import torch as book\n"}
    lint(files | ({"book/__init__.py": ""} if package else {}), rules=["ML101"])


def test_names_that_two_files_take_from_each_other(lint: Lint) -> None:
    """Neither has a definition of its own: the name stands for nothing, and the check goes on."""
    first = """
    import torch
    import second
    loader = second.loader

    def predict(model):
        with torch.no_grad():
            for x in loader:
                print(model(x).argmax(-1).tolist())

    def main(path):
        model = torch.load(path, weights_only=False)
        model.train()
        with torch.no_grad():
            print(model(torch.zeros(1, 3)).argmax(-1).tolist())  # ML101
    """
    lint({"first.py": first, "second.py": "import first\nloader = first.loader\n"}, rules=["ML101"])
