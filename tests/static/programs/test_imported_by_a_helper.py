"""Torch that a helper imports by a text, and classes of models that are handed in under the name of a model."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "dropout that follows the mode": """
        from helpers import safe_import

        nn = safe_import("torch.nn")
        F = safe_import("torch.nn.functional")

        class Net(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.5, self.training)
        """,
    "no torch": """
        from helpers import safe_import

        nn = safe_import("other.nn")
        F = safe_import("other.functional")

        class Net(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.5)
        """,
    "what imports data": """
        from helpers import import_model

        F = import_model("torch.nn.functional")

        def forward(x):
            return F.dropout(x, 0.5)
        """,
    "a name that is made up": """
        from helpers import safe_import

        F = safe_import("torch.nn." + "functional")

        def forward(x):
            return F.dropout(x, 0.5)
        """,
    "evaluation under no_grad": """
        from helpers import optional_import

        torch, has_torch = optional_import("torch")
        models = optional_import("torchvision", name="models")

        def main(images):
            net = models.resnet18(weights="DEFAULT").eval()
            with torch.no_grad():
                print(net(images).argmax(1).tolist())
        """,
    "a network that is called for its output": """
        import torch

        class Runner:
            def __init__(self, model, x):
                self.first = model(x)
                self.best = self.first.max()

            def show(self, model, x):
                self.first.detach()
                return self.best
        """,
    "a class that is handed in, and put into evaluation mode": """
        import torch

        class Estimator:
            def __init__(self, model, size):
                self.net = model(size)
                self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def fit(self, loader, loss):
                self.net.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    loss(self.net(x), y).backward()
                    self.optimizer.step()

            @torch.no_grad()
            def predict(self, x):
                self.net.eval()
                return self.net(x).argmax(1).tolist()
        """,
}
BY_NAME = """
        import importlib
        import sys
        import torch

        MODEL = {imported}

        def main(args, loader):
            net = MODEL.get_model(args.classes).cuda()
            net.load_state_dict(torch.load(args.path, weights_only=True))
            net = net.eval()
            {switch}
            for x in loader:
                print(net(x).argmax(1).tolist())  # {mark}
        """
SILENT["a module that is imported by a name, without gradients"] = BY_NAME.format(
    imported="importlib.import_module(sys.argv[1])", switch="torch.set_grad_enabled(False)", mark="fine"
)
FOUND = {
    "a module that is imported by a name": BY_NAME.format(
        imported="importlib.import_module(sys.argv[1])", switch="pass", mark="ML201"
    ),
    "a module that a builtin imports": BY_NAME.format(
        imported="__import__('models.' + sys.argv[1])", switch="pass", mark="ML201"
    ),
    "functional dropout": """
        from helpers import _safe_import

        nn = _safe_import("torch.nn")
        F = _safe_import("torch.nn.functional")

        class Net(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.5)  # ML104
        """,
    "the module system's own function": """
        import importlib

        F = importlib.import_module("torch.nn.functional")

        def drop(x):
            return F.dropout(x, 0.5)  # ML104
        """,
    "a helper that gives two things, and a name in a module": """
        from helpers import optional_import

        torch, has_torch = optional_import("torch")
        models = optional_import("torchvision", name="models")

        def main(images):
            net = models.resnet18(weights="DEFAULT")
            with torch.no_grad():
                print(net(images).argmax(1).tolist())  # ML101
        """,
    "a helper of the project": """
        import importlib

        def lazy_import_part(name):
            return importlib.import_module(name)

        models = lazy_import_part("torchvision.models")
        torch = lazy_import_part("torch")

        net = models.resnet18(weights="DEFAULT")
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax(1).tolist())  # ML101
        """,
    "a class of a model that is handed in": """
        import torch

        class Estimator:
            def __init__(self, model, size):
                self.net = model(size)
                self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def fit(self, loader, loss):
                self.net.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    loss(self.net(x), y).backward()
                    self.optimizer.step()

            def predict(self, x):
                self.net.eval()
                return self.net(x).argmax(1).tolist()  # ML201
        """,
    "a class that another method asks for": """
        import torch

        class Estimator:
            def __init__(self, network):
                self.network = network

            def build(self, size):
                self.net_ = self.network(size).to("cuda")

            def fit(self, loader, loss):
                optimizer = torch.optim.SGD(self.net_.parameters(), lr=0.1)
                self.net_.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss(self.net_(x), y).backward()
                    optimizer.step()

            def predict(self, x):
                self.net_.eval()
                return self.net_(x).argmax(1).tolist()  # ML201
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
