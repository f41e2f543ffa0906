"""Evidence that no plain use of a result shows: private methods, helpers, what is picked; models saved as a whole."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ("ML101", "ML201")

EVALUATE = """
import torch
class Runner:
    def __init__(self, model, corpus):
        self.model = model
        self.corpus = corpus

    def evaluate(self):
        self.model.eval()
        found = []
        for batch in self.corpus.test:
            found.append({use})
        return found
"""
MATCH = """
import torch
from measures import Average, distance, nearest

class Trainer:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader

    def valid_epoch(self):
        self.model.eval()
        errors = Average()
        {switch}
            for batch in self.loader:
                source = self.model(batch["source"]).F
                target = self.model(batch["target"]).F
                points = self.pairs(batch["points"], source, target)
                errors.update(distance(points, batch["truth"]))
        return errors.mean

    def pairs(self, points, source, target):
        index = nearest(source, target)
        return points[index]
"""
MEASURES = """
class Average:
    def __init__(self):
        self.total, self.count, self.mean = 0.0, 0, 0.0

    def update(self, value):
        self.total, self.count = self.total + value, self.count + 1
        self.mean = self.total / self.count

def nearest(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(-1).min(1)[1]

def distance(points, truth):
    return ((points - truth) ** 2).sum()
"""

WHOLE = """
import torch

{before}
def main(path, x):
    model = torch.load(path, weights_only=False)
    {then}
    with torch.no_grad():
        print(model(x).argmax(-1))  # {mark}
"""

SILENT = {
    "a private method of a model that runs nothing": {
        "app.py": EVALUATE.format(use="self.model._vocabulary(batch)[0].item()")
    },
    "a private method of what is no model": {
        "app.py": EVALUATE.format(use="self.corpus._predict_length(batch).item()")
    },
    "a validation without gradients": {
        "app.py": MATCH.format(switch="with torch.no_grad():"),
        "measures.py": MEASURES,
    },
    "a matcher that is trained": {
        "app.py": MATCH.format(switch="if True:")
        .replace("self.model.eval()", "self.model.train()")
        .replace("valid_epoch", "run_epoch")
        .replace(
            "errors.update(distance(points", "distance(source, target).backward()\n                errors.update((1"
        ),
        "measures.py": MEASURES,
    },
    "saved as a whole, then switched": {"app.py": WHOLE.format(before="", then="model.eval()", mark="right")},
    "saved as a whole, then handed to something that may switch": {
        "app.py": WHOLE.format(before="from lib import prepare", then="prepare(model)", mark="right")
    },
    "a dictionary of tensors": {
        "app.py": """
            import torch

            def main(path):
                state = torch.load(path)
                print(state["mean"].argmax(-1), len(state))
            """
    },
    "a tensor picked by a label": {
        "app.py": """
            import torch

            def train(model, loader, centres, opt):
                for x, y in loader:
                    loss = ((model(x) - centres[y]) ** 2).mean()
                    loss.backward()
                    opt.step()
            """
    },
}

FOUND = {
    "a private method of a model out of sight": {
        "app.py": EVALUATE.format(
            use="self.model._predict_scores(batch).argmax(-1).tolist())  # ML201\n            print(1"
        ),
    },
    "what it says picks the points": {
        "app.py": MATCH.format(switch="if True:").replace('["source"]).F', '["source"]).F  # ML201'),
        "measures.py": MEASURES,
    },
    "saved as a whole, in whichever mode": {
        "app.py": WHOLE.format(before="", then="model = model.cuda()", mark="ML101")
    },
}


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
