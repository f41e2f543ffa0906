"""What libraries of spiking networks, potentials and simulators show: steps handed over, lines of other files."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

TIMED = """
    import time
    import torch
    from torchvision.models import resnet18

    def timed(fn):
        begin = time.perf_counter()
        result = fn()
        return result, time.perf_counter() - begin

    def step(model, optimizer, x, y):
        out, _ = timed(lambda: model(x)){mark}
        loss, _ = timed(lambda: torch.nn.functional.cross_entropy(out, y))
        _, elapsed = timed({handed})
        optimizer.step()
        return (out.argmax(1) == y).sum().item()

    def main(x, y):
        net = resnet18(weights="DEFAULT")
        print(step(net, torch.optim.SGD(net.parameters(), 0.1), x, y))
    """
SILENT = {
    "loss.backward is handed over to what times it": TIMED.format(handed="loss.backward", mark=""),
}
FOUND = {
    "another method is handed over": TIMED.format(handed="loss.mean", mark="  # ML101"),
}


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=["ML101", "ML103"])


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=["ML101", "ML103"])


def test_a_line_of_another_file_is_told_with_the_name_of_the_file(lint: Lint) -> None:
    found = lint(
        {
            "estimator.py": """
                import torch
                from torch import nn

                class Estimator(nn.Module):
                    def __init__(self, net):
                        super().__init__()
                        self.net = net

                    def loss(self, x):
                        return -self.net(x).mean()  # ML103

                    @torch.no_grad()
                    def sample(self, x):
                        return self.net(x)
                """,
            "posterior.py": """
                import torch
                from torch import nn
                from estimator import Estimator

                class Posterior:
                    def __init__(self):
                        self.q = Estimator(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)))

                    def fit(self, loader):
                        optimizer = torch.optim.SGD(self.q.parameters(), 0.1)
                        for _ in range(3):
                            for x in loader:
                                self.q.loss(x).backward()
                                optimizer.step()
                            self.q.eval()
                            self.sample(x)

                    def sample(self, x):
                        return self.q.sample(x).argmax(-1).item()
                """,
        },
        rules=["ML103"],
    )
    assert [finding.message for finding in found] == [
        "`self.net` trains in evaluation mode: eval() on line 16 of posterior.py is never undone"
    ]
