"""Modules built or kept in the wrong place, and `train` overrides: ML105, ML106, ML107."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "modules told from functions by isinstance, and registered": """
        from torch import nn

        class Merge(nn.Module):
            def __init__(self, parts):
                super().__init__()
                self.functions = []
                self.modules_ = nn.ModuleList()
                for part in parts:
                    if isinstance(part, nn.Module):
                        self.modules_.append(part)
                    else:
                        self.functions.append(part)

            def forward(self, x):
                for part in self.modules_:
                    x = part(x)
                for function in self.functions:
                    x = function(x)
                return x
        """,
    "no module gets past the question": """
        from torch import nn

        class Merge(nn.Module):
            def __init__(self, parts):
                super().__init__()
                self.functions = []
                for part in parts:
                    if isinstance(part, nn.Module):
                        raise TypeError(part)
                    self.functions.append(part)

            def forward(self, x):
                return [function(x) for function in self.functions]
        """,
    "tensors moved to a device": """
        from torch import nn

        class Weighted(nn.Module):
            def __init__(self, losses, weights, device):
                super().__init__()
                self.losses = nn.ModuleList([loss.to(device) for loss in losses])
                self.weights = [w.to(device) for w in weights]

            def forward(self, x):
                return sum(w * loss(x) for w, loss in zip(self.weights, self.losses))
        """,
    "layers without parameters built in forward": """
        from torch import nn

        class Net(nn.Module):
            def forward(self, x, y):
                x = nn.ReLU()(x)
                x = nn.Softmax(dim=1)(nn.Flatten()(x))
                return nn.CrossEntropyLoss()(x, y)
        """,
    "layers built by other methods": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = self.make_body(4)

            def make_body(self, n):
                layers = [nn.Linear(n, n) for _ in range(3)]
                layers += [nn.Dropout(0.1)]
                return nn.Sequential(*layers)

            def reset_head(self, n):
                self.head = nn.Linear(4, n)

            def forward(self, x):
                return self.body(x)
        """,
    "a list wrapped later": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.blocks = []
                for _ in range(depth):
                    self.blocks.append(nn.Linear(4, 4))
                self.blocks = nn.ModuleList(self.blocks)
        """,
    "a list wrapped under another name": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.blocks = [nn.Linear(4, 4) for _ in range(depth)]
                self.body = nn.Sequential(*self.blocks)
        """,
    "a dict wrapped later": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                heads = {"a": nn.Linear(4, 2)}
                heads["b"] = nn.Linear(4, 3)
                self.heads = nn.ModuleDict(heads)
        """,
    "names for what is registered": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer1 = nn.Linear(4, 4)
                self.layer2 = nn.Linear(4, 4)
                self.stages = [self.layer1, self.layer2]
                self.by_name = {"one": self.layer1, "two": self.layer2}
                self.parts = list(self.children())
        """,
    "registered under its own name as well": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                first, last = nn.Linear(4, 4), nn.Linear(4, 4)
                head = nn.Linear(4, 2)
                self.head = head
                self.layers = [head]
                self.run = lambda x: head(x)
        """,
    "a factory that returns no module": """
        from torch import nn

        def width(n):
            return 2 * n

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.widths = [width(i) for i in range(depth)]
                self.names = [self.name(i) for i in range(depth)]

            def name(self, i):
                return f"layer{i}"
        """,
    "made by a factory, registered": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = nn.ModuleList([self.make(i) for i in range(depth)])

            def make(self, i):
                return nn.Linear(4, 4)
        """,
    "numbers before super().__init__()": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, width):
                self.width = width
                self.sizes = [width, 2 * width]
                super().__init__()
                self.fc = nn.Linear(width, width)
        """,
    "a namespace of numbers": """
        from types import SimpleNamespace
        from torch import nn

        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.options = SimpleNamespace()
                self.options.width = width
                self.fc = nn.Linear(width, width)
        """,
    "a list that empties itself": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, extra):
                super().__init__()
                self.sizes = [4, 4] if extra else []
                self.body, self.tail = nn.Linear(4, 4), nn.Linear(4, 4)
        """,
    "a local ModuleList that grows": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                layers = nn.ModuleList([])
                for _ in range(depth):
                    layers.append(nn.Linear(4, 4))
                self.layers = layers
        """,
    "a dropout that is switched off at once": """
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return nn.Dropout(0.5).eval()(x)
        """,
    "train that returns on both ways": """
        from torch import nn

        class Net(nn.Module):
            def train(self, mode=True):
                if not mode:
                    return super().train(mode)
                else:
                    super().train(mode)
                    self.norm.eval()
                    return self
        """,
    "setattr, then getattr": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                for i in range(depth):
                    setattr(self, f"conv{i}", nn.Conv2d(3, 3, 3))
                self.convs = [getattr(self, f"conv{i}") for i in range(depth)]
        """,
    "registered from the items of a dict": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = {"a": nn.Linear(4, 2), "b": nn.Linear(4, 3)}
                for name, head in self.heads.items():
                    self.add_module(name, head)
        """,
    "lists of other things": """
        import torch
        from torch import nn
        from torchvision import transforms

        class Net(nn.Module):
            def __init__(self, params):
                super().__init__()
                self.kinds = [nn.Linear, nn.Conv2d]
                self.sizes = [4, 8]
                self.optimizers = [torch.optim.SGD(p, lr=0.1) for p in params]
                self.steps = [transforms.Resize(4), transforms.ToTensor()]
                self.losses = [nn.CrossEntropyLoss(), nn.MSELoss()]
                self.activations = {"relu": nn.ReLU(), "tanh": nn.Tanh()}
        """,
    "a trainer that is no module": """
        from torch import nn

        class Trainer:
            def __init__(self):
                self.models = [nn.Linear(4, 4), nn.Linear(4, 4)]
                self.heads = {"a": nn.Linear(4, 2)}
        """,
    "train written out by hand": """
        from torch import nn

        class Net(nn.Module):
            def train(self, mode=True):
                self.training = mode
                for module in self.children():
                    module.train(mode)
                return self
        """,
    "train with any arguments": """
        from torch import nn

        class Net(nn.Module):
            def train(self, *args, **kwargs):
                result = super().train(*args, **kwargs)
                self.backbone.eval()
                return result
        """,
    "train in the old spelling": """
        from torch import nn

        class Net(nn.Module):
            def train(self, mode: bool = True) -> "Net":
                super(Net, self).train(mode)
                if mode and self.frozen:
                    self.backbone.eval()
                return self
        """,
    "train through the class": """
        from torch import nn

        class Net(nn.Module):
            def train(self, mode=True):
                nn.Module.train(self, mode)
                return self
        """,
    "train of something inside that is a trainer": """
        import torch

        class Experiment:
            def __init__(self, model):
                self.model = model

            def train(self):
                self.model.train()
        """,
    "train and eval passed on to what is far away": """
        from torch import nn

        class Remote(nn.Module):
            def __init__(self, remote):
                super().__init__()
                self.remote = remote

            def train(self, mode=True):
                return self.remote.rpc_sync().train()

            def eval(self):
                return self.remote.rpc_sync().eval()
        """,
}

FOUND = {
    "a list of heads that are moved and run": """
        from torch import nn

        class Adaptive(nn.Module):
            def __init__(self, body, heads, device):
                super().__init__()
                self.body = body.to(device)
                self.heads = [head.to(device) for head in heads]  # ML106

            def forward(self, x):
                h = self.body(x)
                return [head(h) for head in self.heads]
        """,
    "modules told from descriptions by isinstance": """
        from typing import List, Optional

        from torch import nn

        class Merge(nn.Module):
            def __init__(self, layers: Optional[list] = None):
                super().__init__()
                self.layers: Optional[List[nn.Module]] = None
                if layers is not None:
                    self.layers = []
                    for layer in layers:
                        if isinstance(layer, nn.Module):
                            self.layers.append(layer)  # ML106
                        else:
                            self.layers.append(make(layer))

            def forward(self, x):
                return sum(layer(x) for layer in self.layers)
        """,
    "what is no module is refused": """
        from torch import nn

        class Chain(nn.Module):
            def __init__(self, parts):
                super().__init__()
                self.parts = []
                for part in parts:
                    if not isinstance(part, nn.Module):
                        raise TypeError(part)
                    self.parts.append(part)  # ML106

            def forward(self, x):
                for part in self.parts:
                    x = part(x)
                return x
        """,
    "asserted to be modules": """
        from torch import nn

        class Chain(nn.Module):
            def __init__(self, parts):
                super().__init__()
                self.parts = []
                for part in parts:
                    assert isinstance(part, nn.Module)
                    self.parts.append(part)  # ML106

            def forward(self, x):
                for part in self.parts:
                    x = part(x)
                return x
        """,
    "layers with parameters built in forward": """
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                x = nn.Conv2d(3, 8, 3)(x)  # ML105
                x = nn.BatchNorm2d(8)(x)  # ML105
                return x
        """,
    "dropout built in a helper of forward": """
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                drop = nn.Dropout(0.2)  # ML105
                return drop(x)
        """,
    "a local list kept": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                layers = []
                for _ in range(depth):
                    layers.append(nn.Linear(4, 4))
                self.layers = layers  # ML106
        """,
    "pairs": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.pairs = [(nn.Linear(4, 4), nn.LayerNorm(4)) for _ in range(depth)]  # ML106
        """,
    "train that always switches on": """
        from torch import nn

        class Net(nn.Module):
            def train(self, mode=True):  # ML107
                super().train(True)
                return self
        """,
    "grown by addition": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = []
                for _ in range(depth):
                    self.layers = self.layers + [nn.Linear(4, 4)]  # ML106
        """,
    "before super().__init__()": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                self.fc = nn.Linear(4, 4)  # ML106
                super().__init__()
        """,
    "in a function that closes over it, and in a namespace": """
        from types import SimpleNamespace
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                layer = nn.Linear(4, 4)

                def run(x):
                    return layer(x)

                self.run = run  # ML106
                self.parts = SimpleNamespace()
                self.parts.a = nn.Linear(4, 4)  # ML106
                self.parts.b = nn.Linear(4, 4)
        """,
    "made by a method, made by a function": """
        from torch import nn

        def block(n):
            layers = nn.Sequential(nn.Linear(n, n), nn.ReLU())
            return layers

        class Net(nn.Module):
            def __init__(self, depth, extra):
                super().__init__()
                self.a = [self.make(i) for i in range(depth)]  # ML106
                self.b = [block(i) for i in range(depth)]  # ML106
                self.c = [nn.Linear(2, 2), nn.Linear(2, 2)] if extra else []  # ML106
                self.d, self.e = (nn.Linear(2, 2), nn.Linear(2, 2)), nn.Linear(2, 2)  # ML106

            def make(self, i):
                return nn.Linear(i, i)
        """,
    "train that returns self in one case only": """
        from torch import nn

        class Net(nn.Module):
            def train(self, mode=True):  # ML107
                super().train(mode)
                if mode:
                    return self
        """,
    "super that nobody calls": """
        from torch import nn

        class Net(nn.Module):
            def eval(self):  # ML107
                super.eval()

            def train(self, mode=True):
                return super.train(mode)

        class Other(nn.Module):
            def eval(self):
                print("eval")
                return super().eval()

            def train(self, mode=True):  # ML107
                super.train(mode)
        """,
    "train turned round": """
        from torch import nn

        class Net(nn.Module):
            def train(self, mode=True):  # ML107
                return super().train(not mode)
        """,
    "lists, by every road": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.a = [nn.Linear(4, 4), nn.Linear(4, 4)]  # ML106
                self.b = []
                self.b += [nn.Linear(4, 4)]  # ML106
                self.c = []
                self.c.extend(nn.Linear(4, 4) for _ in range(depth))  # ML106
                self.d = {}
                self.d["x"] = nn.Linear(4, 4)  # ML106
                self.e = dict(x=nn.Linear(4, 4))  # ML106
        """,
    "a module of the project built in forward": """
        from torch import nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)

            def forward(self, x):
                return self.fc(x)

        class Net(nn.Module):
            def forward(self, x):
                return Block()(x)  # ML105
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
