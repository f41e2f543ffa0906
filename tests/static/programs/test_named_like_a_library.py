"""A file that is named after the library it imports: it is checked like any other."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

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
