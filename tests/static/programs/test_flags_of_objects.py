"""What a constructor sets for the time being, and other methods or somebody out of sight set later."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

ESTIMATOR = """
    import torch
    from torchvision.models import resnet18

    class Estimator:
        def __init__(self, path):
            self.net = resnet18()
            self.net.load_state_dict(torch.load(path, weights_only=True))
            {init}

        def fit(self, loader, loss):
            self.net.train()
            optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            for x, y in loader:
                optimizer.zero_grad()
                loss(self.net(x), y).backward()
                optimizer.step()
            {fit}

        {more}

        @torch.no_grad()
        def predict(self, x):
            {guard}
            return self.net(x).argmax(1).tolist()  # {mark}
    """
PREPARE = """def prepare(self):
            self.net.eval()
            self.ready = True"""


@pytest.mark.parametrize(
    ("init", "fit", "more", "guard", "mark"),
    [
        ("self.ready = False", "self.net.eval(); self.ready = True", "", "if not self.ready: raise ValueError", "fine"),
        ("self.ready = False", "pass", PREPARE, "if not self.ready: self.prepare()", "fine"),
        ("self.ready = False", "pass", "", "if not self.ready: self.net.eval(); self.ready = True", "fine"),
        ("self.live = True", "pass", "", "if self.live: self.net.eval()", "fine"),
        ("self.fitted = False", "self.fitted = True", "", "if not self.fitted: raise ValueError", "ML101"),
        ("self.phase = None", "pass", "", "if self.phase is None: raise ValueError", "ML101"),
        ("self.phase = None", "self.phase = 'fit'", "", "if self.phase is None: return []", "ML101"),
        ("self.steps = 0", "self.steps += 1", "", "assert self.steps > 0", "ML101"),
    ],
)
def test_a_guard(lint: Lint, init: str, fit: str, more: str, guard: str, mark: str) -> None:
    lint(ESTIMATOR.format(init=init, fit=fit, more=more, guard=guard, mark=mark), rules=["ML101"])
