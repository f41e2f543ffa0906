"""What shows that a forward is inference, and where it is told: names of inputs, training without a switch, methods."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML103", "ML201"]

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
"""

TRAINER = """
import torch
import torch.nn.functional as F

class Trainer:
    def __init__(self, model, optimizer, loader, valid):
        self.model, self.optimizer, self.loader, self.valid = model, optimizer, loader, valid

    def train_epoch(self):
        for x, y in self.loader:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def validate(self):
        hits = 0
        with torch.no_grad():
            for x, y in self.valid:
                hits += (self.model(x).argmax(1) == y).sum().item(){mark}
        return hits
"""

MLP = """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters())
x_train, y_train = torch.rand(10, 4), torch.rand(10, 1)
for epoch in range(100):
    loss = F.mse_loss(net(x_train), y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

VAE = """
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(784, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
        self.dec = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 784))

    def decode(self, z):
        return torch.sigmoid(self.dec(z))

    def forward(self, x):
        return self.decode(self.enc(x))

def train(vae, loader):
    optimizer = torch.optim.Adam(vae.parameters())
    vae.train()
    for x, _ in loader:
        loss = F.binary_cross_entropy(vae(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

SILENT: dict[str, str | Mapping[str, str]] = {
    "a trainer whose caller switches": {
        "trainer.py": TRAINER.format(mark=""),
        "main.py": """
            import torch
            from torchvision.models import resnet18
            from trainer import Trainer

            def main(loader, valid):
                net = resnet18()
                trainer = Trainer(net, torch.optim.Adam(net.parameters()), loader, valid)
                trainer.model.train()
                trainer.train_epoch()
                trainer.model.eval()
                print(trainer.validate())
            """,
    },
    "a trainer with a method that switches": TRAINER.format(mark="")
    + """
    def set_eval_mode(self):
        self.model.eval()
""",
    "an evaluator that trains nothing": """
import torch

class Evaluator:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader

    def evaluate(self):
        with torch.no_grad():
            return sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.loader)
""",
    "a sentence encoder that a caller out of sight hands in": """
import torch

def retrieve(model, query, passages):
    with torch.no_grad():
        scores = model.encode([query]) @ passages.T
    return scores.argmax().item()
""",
    "a value and a device, no data held out": HEAD
    + MLP
    + """
for step, val in enumerate([torch.rand(1, 4)]):
    print(step, net(val).item(), net(val.to(dev)).item())
""",
    "held-out data and a model in evaluation mode": HEAD
    + MLP
    + """
net.eval()
with torch.no_grad():
    print((net(x_test).round() == y_test).float().mean())
""",
    "samples of a model in evaluation mode": HEAD
    + VAE
    + """
def main(loader):
    vae = VAE()
    train(vae, loader)
    vae.eval()
    with torch.no_grad():
        torch.save(vae.decode(torch.randn(64, 16)), "samples.pt")
""",
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "a trainer that trains and evaluates without any switch": TRAINER.format(mark="  # ML101"),
    "test data by the name of the argument": HEAD
    + MLP
    + """
predicted = net(x_test)  # ML101
print((predicted.round() == y_test).float().mean())
""",
    "test data moved and converted on the way": HEAD
    + MLP
    + """
predicted = net(torch.from_numpy(test_features).to(device))  # ML101
print((predicted.round() == y_test).float().mean())
""",
    "samples at the call of the method that training uses as well": HEAD
    + VAE
    + """
def main(loader):
    vae = VAE()
    train(vae, loader)
    with torch.no_grad():
        torch.save(vae.decode(torch.randn(64, 16)), "samples.pt")  # ML101
""",
    "a method for predictions has its forward wrong, not its calls": HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 2))

    def forward(self, x):
        return self.body(x)

    def predict(self, x):
        with torch.no_grad():
            return self(x).argmax(-1)  # ML101

net = Net()
net.load_state_dict(torch.load("c.pt", weights_only=True))
print(net.predict(torch.rand(2, 4)))
""",
}

TWO_MODELS_AT_ONE_PLACE = """
import torch
from torchvision.models import resnet18, resnet34

def predict(model, x):
    with torch.no_grad():
        return model(x).argmax(1)  # ML101

def first(path, x):
    net = resnet18()
    net.load_state_dict(torch.load(path, weights_only=True))
    return predict(net, x)

def second(path, x):
    net = resnet34()
    net.load_state_dict(torch.load(path, weights_only=True))
    return predict(net, x)
"""


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(lint: Lint, program: str | Mapping[str, str]) -> None:
    lint(program, rules=RULES)


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND.keys())
def test_found(lint: Lint, program: str | Mapping[str, str]) -> None:
    lint(program, rules=["ML101"])


def test_two_models_at_one_place_are_one_finding(lint: Lint) -> None:
    assert len(lint(TWO_MODELS_AT_ONE_PLACE, rules=["ML101"])) == 1
