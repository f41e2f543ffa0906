"""Weights that are no inputs, and layers that options of a constructor leave out: correct code first."""

from __future__ import annotations

from tests.static.conftest import Lint

SCORES = """
import torch
from torch import nn

class Tucker(nn.Module):
    def __init__(self, core, entities):
        super().__init__()
        self.core = nn.Parameter(torch.tensor(core), requires_grad=True)
        self.entities = nn.Embedding.from_pretrained(entities)
        self.norm = nn.BatchNorm1d(8)

    def scores(self, head):
        mixed = torch.mm(self.entities(head), self.core)
        return torch.sigmoid(self.norm(mixed)){mark}

def validate(core, entities, heads):
    model = Tucker(core, entities)
    model.eval()
    {switch}
    for head in heads:
        print(model.scores(head).argmax(1).tolist())
"""


def test_a_weight_is_no_input_that_asks_for_gradients(lint: Lint) -> None:
    lint(SCORES.format(switch="torch.set_grad_enabled(False)", mark=""), rules=["ML201", "ML202"])


def test_a_weight_is_no_reason_to_record(lint: Lint) -> None:
    lint(SCORES.format(switch="", mark="  # ML201"), rules=["ML201", "ML202"])
