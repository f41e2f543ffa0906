"""A message that names a line of a notebook counts it as the notebook does: from its cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modellint.linting.running import check_text
from modellint.settings import Overrides, Resolver

SETUP = "import torch\nfrom torchvision.models import resnet18\n"
EVALUATE = """def evaluate(net, loader):
    net.eval()
    with torch.no_grad():
        for x, y in loader:
            print((net(x).argmax(1) == y).float().mean())
"""
TRAIN = """def train(loader):
    net = resnet18(weights="DEFAULT")
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        evaluate(net, loader)
"""


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([SETUP, EVALUATE, TRAIN], "eval() on line 2 of cell 2 is never undone"),
        ([SETUP, EVALUATE + TRAIN], "eval() on line 2 is never undone"),
        (["# Title", SETUP, "# Text", EVALUATE, TRAIN], "eval() on line 2 of cell 4 is never undone"),
    ],
)
def test_a_line_of_a_cell(tmp_path: Path, cells: list[str], told: str) -> None:
    kinds = {True: "markdown", False: "code"}
    written = [{"cell_type": kinds[c.startswith("#")], "source": c.splitlines(keepends=True)} for c in cells]
    notebook = {"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    report = check_text(
        tmp_path / "a.ipynb", json.dumps(notebook).encode(), Resolver(Overrides(select=("ML103",), isolated=True))
    )
    assert [told in finding.message for finding in report.diagnostics] == [True]
