"""Classes, factories, registries and callers in other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.static.context import FileContext
from modellint.static.flow.events import Event
from tests.static.conftest import Lint

SILENT = {
    "the base class sets the mode": {
        "base.py": """
            import torch

            class Service:
                def __init__(self, path):
                    self.net = self.build()
                    self.net.load_state_dict(torch.load(path, weights_only=True))
                    self.net.eval()

                def build(self):
                    raise NotImplementedError
            """,
        "app.py": """
            import torch
            from base import Service
            from torchvision.models import resnet18

            class Ranker(Service):
                def build(self):
                    return resnet18()

                @torch.no_grad()
                def predict(self, x):
                    return self.net(x).argmax(-1).item()
            """,
    },
    "super().__init__ and more": {
        "base.py": """
            import torch
            from torchvision.models import resnet18

            class Base:
                def __init__(self, path):
                    self.net = resnet18()
                    self.net.load_state_dict(torch.load(path, weights_only=True))

                def ready(self):
                    self.net.eval()
            """,
        "app.py": """
            import torch
            from base import Base

            class Ranker(Base):
                def __init__(self, path, labels):
                    super().__init__(path)
                    self.labels = labels
                    self.ready()

                def predict(self, x):
                    with torch.no_grad():
                        return self.labels[self.net(x).argmax(-1).item()]
            """,
    },
    "a model without modes, its class in another file": {
        "nets.py": """
            from torch import nn

            class Block(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.norm = nn.LayerNorm(4)

                def forward(self, x):
                    return self.norm(x)
            """,
        "app.py": """
            from nets import Block
            from torch import nn

            class Net(Block):
                def __init__(self):
                    super().__init__()
                    self.layers = nn.ModuleList([Block() for _ in range(3)])
            """,
    },
    "a registry that is a dict of factories": {
        "registry.py": """
            from torchvision.models import resnet18, resnet50

            MODELS = {"small": resnet18, "large": resnet50}

            def build(name):
                return MODELS[name](weights="DEFAULT")
            """,
        "app.py": """
            import torch
            from registry import build

            @torch.no_grad()
            def predict(name, x):
                net = build(name)
                net.eval()
                return net(x).argmax(-1).item()
            """,
    },
    "a registry filled by a decorator": {
        "registry.py": """
            REGISTRY = {}

            def register(name):
                def decorate(fn):
                    REGISTRY[name] = fn
                    return fn
                return decorate
            """,
        "nets.py": """
            from registry import register
            from torchvision.models import resnet18

            @register("small")
            def small():
                return resnet18(weights="DEFAULT").eval()
            """,
        "app.py": """
            import nets
            import torch
            from registry import REGISTRY

            @torch.no_grad()
            def predict(name, x):
                net = REGISTRY[name]()
                return net(x).argmax(-1).item()
            """,
    },
    "a registry out of sight": {
        "app.py": """
            import torch
            from mmcv.utils import Registry

            MODELS = Registry("model")

            @torch.no_grad()
            def predict(cfg, x):
                net = MODELS.build(cfg)
                return net(x).argmax(-1).item()
            """,
    },
    "a class with a factory method": {
        "nets.py": """
            import torch
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

                def forward(self, x):
                    return self.body(x)

                @classmethod
                def from_file(cls, path):
                    net = cls()
                    net.load_state_dict(torch.load(path, weights_only=True))
                    return net.eval()
            """,
        "app.py": """
            import torch
            from nets import Net

            @torch.no_grad()
            def predict(path, x):
                return Net.from_file(path)(x).argmax(-1).item()
            """,
    },
    "the evaluation in one file, its right caller in another": {
        "metrics.py": """
            def accuracy(model, loader):
                hits = 0
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()
                return hits
            """,
        "app.py": """
            import torch
            from metrics import accuracy
            from torchvision.models import resnet18

            def main(loader):
                net = resnet18(weights="DEFAULT").eval()
                with torch.no_grad():
                    print(accuracy(net, loader))
            """,
    },
    "a mixin": {
        "mixins.py": """
            import torch

            class Evaluates:
                def evaluate(self, loader):
                    self.model.eval()
                    with torch.no_grad():
                        for x, y in loader:
                            print((self.model(x).argmax(1) == y).sum().item())
                    self.model.train()
            """,
        "app.py": """
            from mixins import Evaluates

            class Trainer(Evaluates):
                def __init__(self, model, optimizer, loss_fn):
                    self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn

                def fit(self, loader, val_loader):
                    self.model.train()
                    for x, y in loader:
                        self.optimizer.zero_grad()
                        self.loss_fn(self.model(x), y).backward()
                        self.optimizer.step()
                        self.evaluate(val_loader)
            """,
    },
    "an evaluation that restores nothing, and a train function of another file that does": {
        "steps.py": """
            import torch

            def train_epoch(model, loader, optimizer, loss_fn):
                model.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()

            @torch.no_grad()
            def evaluate(model, loader):
                model.eval()
                return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
            """,
        "app.py": """
            from steps import evaluate, train_epoch
            from torchvision.models import resnet18

            def main(loader, val_loader, optimizer, loss_fn):
                net = resnet18()
                for epoch in range(10):
                    train_epoch(net, loader, optimizer, loss_fn)
                    print(evaluate(net, val_loader))
            """,
    },
}

FOUND = {
    "a base class that forgets": {
        "base.py": """
            import torch

            class Service:
                def __init__(self, path):
                    self.net = self.build()
                    self.net.load_state_dict(torch.load(path, weights_only=True))

                def build(self):
                    raise NotImplementedError
            """,
        "app.py": """
            import torch
            from base import Service
            from torchvision.models import resnet18

            class Ranker(Service):
                def build(self):
                    return resnet18()

                @torch.no_grad()
                def predict(self, x):
                    return self.net(x).argmax(-1).item()  # ML101
            """,
    },
    "a module of the project that descends from another file's": {
        "base.py": """
            from torch import nn

            class Base(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.drop = nn.Dropout(0.3)
            """,
        "app.py": """
            import torch
            from base import Base
            from torch import nn

            class Net(Base):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(4, 2)
                    self.extra = [nn.Linear(4, 4)]  # ML106

                def train(self, mode=True):  # ML107
                    self.fc.eval()
                    return self

                def forward(self, x):
                    return self.fc(self.drop(x))

            class Plain(Base):
                def forward(self, x):
                    return self.drop(x)

            @torch.no_grad()
            def predict(path, x):
                net = Plain()
                net.load_state_dict(torch.load(path, weights_only=True))
                return net(x).argmax(-1).item()  # ML101:error
            """,
    },
    "nothing in the model depends on the mode, across files": {
        "nets.py": """
            from torch import nn

            class Line(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(4, 2)

                def forward(self, x):
                    return self.fc(x)
            """,
        "app.py": """
            import torch
            from nets import Line

            @torch.no_grad()
            def predict(path, x):
                net = Line()
                net.load_state_dict(torch.load(path, weights_only=True))
                return net(x).argmax(-1).item()  # ML101:info
            """,
    },
    "a class with a factory method": {
        "nets.py": """
            import torch
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

                def forward(self, x):
                    return self.body(x)

                @classmethod
                def from_file(cls, path):
                    net = cls()
                    net.load_state_dict(torch.load(path, weights_only=True))
                    return net
            """,
        "app.py": """
            import torch
            from nets import Net

            @torch.no_grad()
            def predict(path, x):
                return Net.from_file(path)(x).argmax(-1).item()  # ML101
            """,
    },
    "every caller wrong, in different files": {
        "metrics.py": """
            import torch

            @torch.no_grad()
            def accuracy(model, loader):
                hits = 0
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()  # ML101
                return hits
            """,
        "first.py": """
            from metrics import accuracy
            from torchvision.models import resnet18

            def main(loader):
                print(accuracy(resnet18(weights="DEFAULT"), loader))
            """,
        "second.py": """
            from metrics import accuracy
            from torchvision.models import resnet50

            def main(loader):
                print(accuracy(resnet50(weights="DEFAULT"), loader))
            """,
    },
    "an evaluation in another file that leaks into training": {
        "steps.py": """
            import torch

            @torch.no_grad()
            def evaluate(model, loader):
                model.eval()
                return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
            """,
        "app.py": """
            from steps import evaluate
            from torchvision.models import resnet18

            def main(loader, val_loader, optimizer, loss_fn):
                net = resnet18()
                net.train()
                for epoch in range(10):
                    for x, y in loader:
                        optimizer.zero_grad()
                        loss_fn(net(x), y).backward()  # ML103
                        optimizer.step()
                    print(evaluate(net, val_loader))
            """,
    },
    "a registry that is a dict of factories": {
        "registry.py": """
            from torchvision.models import resnet18, resnet50

            MODELS = {"small": resnet18, "large": resnet50}

            def build(name):
                return MODELS[name](weights="DEFAULT")
            """,
        "app.py": """
            import torch
            from registry import build

            @torch.no_grad()
            def predict(name, x):
                net = build(name)
                return net(x).argmax(-1).item()  # ML101
            """,
    },
    "one caller without no_grad, in another file": {
        "metrics.py": """
            def accuracy(model, loader):
                hits = 0
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()
                return hits
            """,
        "right.py": """
            import torch
            from metrics import accuracy
            from torchvision.models import resnet18

            @torch.no_grad()
            def main(loader):
                print(accuracy(resnet18(weights="DEFAULT").eval(), loader))
            """,
        "wrong.py": """
            from metrics import accuracy
            from torchvision.models import resnet18

            def main(loader):
                print(accuracy(resnet18(weights="DEFAULT").eval(), loader))  # ML201
            """,
    },
    "one caller right, one wrong, in different files": {
        "metrics.py": """
            import torch

            @torch.no_grad()
            def accuracy(model, loader):
                hits = 0
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()
                return hits
            """,
        "right.py": """
            from metrics import accuracy
            from torchvision.models import resnet18

            def main(loader):
                net = resnet18(weights="DEFAULT").eval()
                print(accuracy(net, loader))
            """,
        "wrong.py": """
            from metrics import accuracy
            from torchvision.models import resnet18

            def main(loader):
                net = resnet18(weights="DEFAULT")
                print(accuracy(net, loader))  # ML101
            """,
    },
    "a registry filled by a decorator": {
        "registry.py": """
            REGISTRY = {}

            def register(name):
                def decorate(fn):
                    REGISTRY[name] = fn
                    return fn
                return decorate
            """,
        "nets.py": """
            from registry import register
            from torchvision.models import resnet18

            @register("small")
            def small():
                return resnet18(weights="DEFAULT")
            """,
        "app.py": """
            import nets
            import torch
            from registry import REGISTRY

            @torch.no_grad()
            def predict(name, x):
                net = REGISTRY[name]()
                return net(x).argmax(-1).item()  # ML101
            """,
    },
    "exported by a helper of another file": {
        "exporting.py": """
            import torch

            def save(net, path):
                torch.jit.trace(net, torch.ones(1, 3, 224, 224)).save(path)
            """,
        "right.py": """
            from exporting import save
            from torchvision.models import resnet18

            save(resnet18(weights="DEFAULT").eval(), "a.pt")
            """,
        "wrong.py": """
            from exporting import save
            from torchvision.models import resnet18

            save(resnet18(weights="DEFAULT"), "b.pt")  # ML109
            """,
    },
}

HELPER_NOT_CHECKED = {
    "the helper forgets eval()": (
        "app.py",
        {
            "lib.py": """
                import torch

                @torch.no_grad()
                def accuracy(model, loader):
                    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
                """,
            "app.py": """
                from lib import accuracy
                from torchvision.models import resnet18

                def main(loader):
                    net = resnet18(weights="DEFAULT")
                    print(accuracy(net, loader))  # ML101
                """,
        },
    ),
    "the helper records gradients": (
        "app.py",
        {
            "lib.py": """
                def accuracy(model, loader):
                    model.eval()
                    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
                """,
            "app.py": """
                from lib import accuracy
                from torchvision.models import resnet18

                def main(loader):
                    net = resnet18(weights="DEFAULT")
                    print(accuracy(net, loader))  # ML201
                """,
        },
    ),
    "the callers are not checked": (
        "lib.py",
        {
            "lib.py": """
                import torch

                @torch.no_grad()
                def accuracy(model, loader):
                    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
                """,
            "app.py": """
                from lib import accuracy
                from torchvision.models import resnet18

                def main(loader):
                    net = resnet18(weights="DEFAULT").eval()
                    print(accuracy(net, loader))
                """,
        },
    ),
}


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, files: dict[str, str]) -> None:
    lint(files)


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, files: dict[str, str]) -> None:
    lint(files)


@pytest.mark.parametrize(("checked", "files"), HELPER_NOT_CHECKED.values(), ids=HELPER_NOT_CHECKED)
def test_one_file_checked_of_several(lint: Lint, checked: str, files: dict[str, str]) -> None:
    lint(files, check=[checked])


ONE_OF_MANY_ALIKE = {
    "train_small.py": """
        import torch

        def validate(net, loader):
            with torch.no_grad():
                return sum(net(x).sum().item() for x in loader)
        """,
    "train_large.py": """
        '''Like train_small.py, with a larger network.'''
        import torch

        def validate(net, loader):
            with torch.no_grad():
                return sum(net(x).sum().item() for x in loader)

        def main(net, loader):
            print(validate(net.eval(), loader))
        """,
    "report.py": """
        import train_small
        from torchvision.models import resnet18

        def main(loader):
            print(train_small.validate(resnet18(weights="DEFAULT").eval(), loader))
        """,
}


def test_of_scripts_alike_none_is_taken_for_a_caller(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a function of that name and means its own; a hundred of them were analysed for each other."""
    asked = set()
    callers_in = FileContext.callers_in

    def spy(self: FileContext, path: Path, names: frozenset[str]) -> list[Event]:
        asked.add(path.name)
        return callers_in(self, path, names)

    monkeypatch.setattr(FileContext, "callers_in", spy)
    lint(ONE_OF_MANY_ALIKE, check=["train_small.py"])
    assert asked == {"report.py"}
