"""Evaluations that had lost their eval() or no_grad, and what stood around them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML102", "ML103", "ML109", "ML201", "ML203", "ML204"]

NETWORK = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))

            def forward(self, x):
                return self.body(x)
    """

TRAINER = """
        import torch

        class Trainer:
            def __init__(self, policy, engine, batches, held_out):
                self.policy = policy
                self.engine = engine
                self.batches = batches
                self.held_out = held_out

            def metrics(self, batch):
                logits = self.policy(batch["x"])
                loss = torch.nn.functional.cross_entropy(logits, batch["y"])
                return loss, self.engine.gather(loss.detach())

            def evaluate(self):
                {ready}
                for batch in self.held_out:
                    with torch.no_grad():
                        _, loss = self.metrics(batch){mark}
                    print(loss.item())

            def train(self):
                for batch in self.batches:
                    self.evaluate()
                    self.policy.train()
                    loss, _ = self.metrics(batch)
                    self.engine.backward(loss)
                    self.engine.step()
    """

EMBEDDED = """
        import torch

        def extract_feature(backbone, image, path):
            {load}
            {ready}
            with torch.no_grad():
                return backbone(image){mark}
    """
LOADED = "backbone.load_state_dict(torch.load(path, weights_only=True))"

SERVED = {
    "network.py": NETWORK,
    "task.py": """
        import torch

        def test(net, loader):
            {ready}
            hits = 0
            with torch.no_grad():
                for x, y in loader:
                    hits += (net(x).argmax(1) == y).sum().item(){mark}
            return hits
    """,
    "client.py": """
        from flwr.clientapp import ClientApp
        from network import Net
        from task import test as test_fn

        {made}

        @{decorator}
        def handle(message, loader):
            model = Net()
            model.load_state_dict(message.content["arrays"].to_torch_state_dict())
            return test_fn(model, loader)
    """,
}


def _served(ready: str, mark: str, made: str, decorator: str) -> Mapping[str, str]:
    parts = {"ready": ready, "mark": mark, "made": made, "decorator": decorator}
    return {name: text.format(**parts) for name, text in SERVED.items()}


SILENT: dict[str, str | Mapping[str, str]] = {
    "an engine that gathers metrics and runs backward()": TRAINER.format(ready="self.policy.eval()", mark=""),
    "a function that loads the weights and calls eval()": EMBEDDED.format(
        load=LOADED, ready="backbone.eval()", mark=""
    ),
    "a function that is given a model as it is": EMBEDDED.format(load="pass", ready="pass", mark=""),
    "a handler that evaluates": _served("net.eval()", "", "app = ClientApp()", "app.evaluate()"),
    "a decorator out of sight that is named for evaluation": _served(
        "pass", "", "import modes", "modes.evaluation(Net)"
    ),
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "an engine that gathers metrics and runs backward()": TRAINER.format(ready="pass", mark="  # ML101"),
    "a function that loads the weights": EMBEDDED.format(load=LOADED, ready="pass", mark="  # ML101"),
    "a handler that evaluates": _served("pass", "  # ML101", "app = ClientApp()", "app.evaluate()"),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, program: str | Mapping[str, str]) -> None:
    lint(program, rules=RULES)


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, program: str | Mapping[str, str]) -> None:
    lint(program, rules=RULES)
