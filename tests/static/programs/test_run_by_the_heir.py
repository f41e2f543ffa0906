"""A base class calls, under a switch, a method that its heirs have, and whatever these call runs without gradients."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PROGRAM = {
    "model.py": """
        import torch
        from torch import nn

        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(8, 8)
                self.head = nn.Linear(8, 90)

            def forward(self, x):
                return self.body(x)

            def generate(self, encoded, limit):
                found = encoded.new_zeros(limit, 8)
                for place in range(limit):
                    hidden = self.forward(found[:place]){MARK}
                    found[place] = torch.topk(self.head(hidden.data[-1]), 1)[1]
                return found
    """,
    "evaluator.py": """
        import torch

        class Evaluator:
            def run(self, scores):
                with {SWITCH}:
                    for part in ("valid", "test"):
                        self.{CALLED}(scores, part)

            def evaluate(self, scores, part):
                raise NotImplementedError

        class Reporter{BASE}:
            def run(self, scores):
                with torch.no_grad():
                    self.evaluate(scores, "test")

            def evaluate(self, scores, part):
                scores[part] = self.model(self.data[part]).max().item()

        class Generator{HEIR}:
            def __init__(self, trainer, data):
                self.decoder = trainer.decoder
                self.data = data

            def evaluate(self, scores, part):
                self.decoder.eval()
                for x in self.data[part]:
                    scores[part] = self.decoder.generate(x, 20)
    """,
}


@pytest.mark.parametrize(
    ("switch", "called", "base", "heir", "mark"),
    [
        ("torch.no_grad()", "evaluate", "", "(Evaluator)", ""),
        ("open(part)", "evaluate", "", "(Evaluator)", "  # ML201"),
        ("torch.no_grad()", "report", "", "(Evaluator)", "  # ML201"),
        ("torch.no_grad()", "evaluate", "(Evaluator)", "", "  # ML201"),
    ],
)
def test_a_method_of_an_heir(lint: Lint, switch: str, called: str, base: str, heir: str, mark: str) -> None:
    filled = {"SWITCH": switch, "CALLED": called, "BASE": base, "HEIR": heir, "MARK": mark}
    lint({path: text.format(**filled) for path, text in PROGRAM.items()}, check=["model.py"])
