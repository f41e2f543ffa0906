"""Parts of a model, run on their own after the whole was trained: correct code first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

FEATURES = """
import numpy as np
import torch
from torch import nn, optim

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 8)

    def forward(self, rows):
        return self.layer(rows)

class Classifier(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(8, 2)

    def features(self, rows):
        return self.encoder(rows).cpu().data.numpy(){mark}

    def forward(self, rows):
        return self.head(self.encoder(rows))

def train(model, loader):
    model.train()
    optimizer = optim.Adam(model.parameters())
    for rows, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()

def memory(model, loader):
    found = []
    for rows, labels in loader:
        found.append(model.features(rows))
    return torch.tensor(np.concatenate(found).mean(0))

encoder = Encoder()
{frozen}
model = Classifier(encoder)
{train}
with {context}:
    print(memory(model, loader))
"""


@pytest.mark.parametrize(
    ("train", "frozen", "context", "mark"),
    [
        ("train(model, loader)", "", "torch.no_grad()", ""),
        ("pass", "", "timer()", ""),
        ("train(model, loader)", "encoder.requires_grad_(False)", "timer()", ""),
        ("train(model, loader)", "", "timer()", "  # ML201"),
    ],
)
def test_a_part_that_learned_in_the_whole(lint: Lint, train: str, frozen: str, context: str, mark: str) -> None:
    text = FEATURES.replace("{train}", train).replace("{frozen}", frozen)
    lint({"app.py": text.replace("{context}", context).replace("{mark}", mark)}, rules=["ML201"])
