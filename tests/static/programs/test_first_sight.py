"""What the rules got wrong in repositories seen for the first time: silent as it is, found in a wrong neighbour."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from modellint.sources import read_source
from tests.static.conftest import Lint, analyzer, write

GENERATION = """
    import torch

    def generate(model, tokens, count):
        for _ in range(count):
            with torch.no_grad():
                scores = model(tokens)  # ML101
            tokens = torch.cat((tokens, scores[:, -1].argmax(-1, keepdim=True)), dim=1)
        return tokens
    """
NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.drop(x)
    """


def notebook(*cells: str) -> str:
    listed = [{"cell_type": "code", "source": dedent(text).splitlines(keepends=True)} for text in cells]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4})


def found_with(root: Path, *cells: str) -> list[str]:
    """Return the codes found in a helper that a notebook of these cells calls."""
    files = {"helper.py": GENERATION, "net.py": NET, "book.ipynb": notebook(*cells)}
    paths = write(root, files)
    return [d.code for d in analyzer(root, paths, ["ML101"]).check(read_source(root / "helper.py"))]


IMPORTS = """
    import torch
    from helper import generate
    from net import Net
    model = Net()
    model.load_state_dict(torch.load("a.pt", weights_only=True))
    """


def test_a_notebook_that_readies_the_model_is_a_caller(tmp_path: Path) -> None:
    assert found_with(tmp_path, IMPORTS, "model.eval();", "print(generate(model, x, 3))") == []


def test_a_cell_that_does_not_parse_costs_a_notebook_nothing_else(tmp_path: Path) -> None:
    assert found_with(tmp_path, IMPORTS, "model.eval();", "print 'a'", "print(generate(model, x, 3))") == []


def test_a_notebook_that_leaves_the_model_in_training_mode_is_a_wrong_caller(tmp_path: Path) -> None:
    assert found_with(tmp_path, IMPORTS, "print(generate(model, x, 3))") == ["ML101"]


SILENT = {
    "a helper that does one thing with a model that its callers have readied": GENERATION.replace("  # ML101", ""),
}
FOUND = {
    "a function that evaluates the model itself": """
        import torch

        def evaluate(model, loader):
            right = 0
            with torch.no_grad():
                for x, y in loader:
                    right += (model(x).argmax(-1) == y).sum().item()  # ML101
            return right / len(loader)
        """,
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name])


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name])
