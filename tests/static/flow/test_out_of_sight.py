"""Modes set in ways that no name betrays, and things called model that are none."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "a loop over attributes": """
        import torch
        from torchvision.models import resnet18, resnet50

        class Pair:
            def __init__(self):
                self.a = resnet18(weights="DEFAULT")
                self.b = resnet50(weights="DEFAULT")
                for net in [self.a, self.b]:
                    net.eval()

            @torch.no_grad()
            def predict(self, x):
                return (self.a(x) + self.b(x)).argmax(-1).item()
        """,
    "attributes by their names": """
        import torch
        from torchvision.models import resnet18, resnet50

        class Pair:
            def __init__(self):
                self.a = resnet18(weights="DEFAULT")
                self.b = resnet50(weights="DEFAULT")
                for name in ("a", "b"):
                    getattr(self, name).eval()

            @torch.no_grad()
            def predict(self, x):
                return (self.a(x) + self.b(x)).argmax(-1).item()
        """,
    "a function out of sight prepares the model": """
        import torch
        from lib import prepare
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT")
            prepare(net)
            return net(x).argmax(-1).item()
        """,
    "a function out of sight returns the model": """
        import torch
        from lib import prepare
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = prepare(resnet18(weights="DEFAULT"))
            return net(x).argmax(-1).item()
        """,
    "set from outside": """
        import torch
        from torchvision.models import resnet18

        class Service:
            net = None

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1).item()

        service = Service()
        service.net = resnet18(weights="DEFAULT").eval()
        print(service.predict(torch.ones(1, 3, 224, 224)))
        """,
    "a module that starts in evaluation mode": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Extractor(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = resnet18(weights="DEFAULT")
                self.eval()

            def forward(self, x):
                return self.body(x)

        @torch.no_grad()
        def embed(x):
            return Extractor()(x).cpu().numpy()
        """,
    "a module that calls eval() in its own method": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, path):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
                self.load_state_dict(torch.load(path, weights_only=True))

            def forward(self, x):
                return self.body(x)

            @torch.no_grad()
            def predict(self, x):
                self.eval()
                return self(x).argmax(-1)

        print(Net("a.pt").predict(torch.ones(1, 4)))
        """,
    "a model that never leaves evaluation mode": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Frozen(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = resnet18(weights="DEFAULT").eval()

            def train(self, mode=True):
                return super().train(False)

            @torch.no_grad()
            def forward(self, x):
                return self.body(x)

        net = Frozen().train()
        print(net(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "a constant at the top": """
        import torch
        from torchvision.models import resnet18

        TRAIN = False

        net = resnet18(weights="DEFAULT")
        if TRAIN:
            net.train()
        else:
            net.eval()
        if not TRAIN:
            with torch.no_grad():
                print(net(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "a cache by setdefault": """
        import torch
        from torchvision.models import resnet18

        CACHE = {}

        @torch.no_grad()
        def predict(name, x):
            net = CACHE.setdefault(name, resnet18(weights="DEFAULT").eval())
            return net(x).argmax(-1).item()
        """,
    "a cache filled elsewhere": """
        import torch
        from torchvision.models import resnet18

        CACHE = {}

        def warm(name):
            net = resnet18(weights="DEFAULT")
            net.eval()
            CACHE[name] = net

        @torch.no_grad()
        def predict(name, x):
            if name not in CACHE:
                warm(name)
            return CACHE[name](x).argmax(-1).item()
        """,
    "an attribute of the function": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            if not hasattr(predict, "net"):
                predict.net = resnet18(weights="DEFAULT").eval()
            return predict.net(x).argmax(-1).item()
        """,
    "a cached property": """
        import functools

        import torch
        from torchvision.models import resnet18

        class Service:
            @functools.cached_property
            def net(self):
                net = resnet18(weights="DEFAULT")
                net.eval()
                return net

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1).item()
        """,
    "a singleton": """
        import torch
        from torchvision.models import resnet18

        class Service:
            _instance = None

            def __new__(cls):
                if cls._instance is None:
                    cls._instance = super().__new__(cls)
                    cls._instance.net = resnet18(weights="DEFAULT").eval()
                return cls._instance

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1).item()
        """,
    "nonlocal": """
        import torch
        from torchvision.models import resnet18

        def server():
            net = None

            def load():
                nonlocal net
                net = resnet18(weights="DEFAULT").eval()

            @torch.no_grad()
            def predict(x):
                if net is None:
                    load()
                return net(x).argmax(-1).item()

            return predict
        """,
    "pytest fixtures": {
        "tests/test_net.py": """
            import pytest
            import torch
            from torchvision.models import resnet18

            @pytest.fixture
            def net():
                return resnet18(weights="DEFAULT").eval()

            def test_predicts(net):
                with torch.no_grad():
                    assert net(torch.ones(1, 3, 224, 224)).argmax().item() >= 0
            """,
    },
    "a generative program of Pyro": """
        import pyro
        import torch

        def model(data):
            p = pyro.sample("p", pyro.distributions.Beta(1, 1))
            return pyro.sample("x", pyro.distributions.Bernoulli(p), obs=data)

        def evaluate(data):
            with torch.no_grad():
                print(model(data).mean().item())
        """,
    "a session of another runtime": """
        import onnxruntime
        import torch

        def predict(path, x):
            model = onnxruntime.InferenceSession(path)
            with torch.no_grad():
                return torch.tensor(model.run(None, {"x": x.numpy()})[0]).argmax(-1).item()
        """,
    "OpenCV's networks": """
        import cv2
        import torch

        def detect(path, image):
            net = cv2.dnn.readNet(path)
            net.setInput(image)
            out = net.forward()
            print(torch.tensor(out).argmax())
        """,
    "a scikit-learn model behind torch features": """
        import joblib
        import torch

        @torch.no_grad()
        def predict(path, features):
            model = joblib.load(path)
            return model.predict(features.numpy()).argmax()
        """,
    "JAX": """
        import jax
        import torch
        from flax import linen as nn

        def evaluate(model, params, x):
            logits = model.apply(params, x)
            print(logits.argmax(-1), torch.ones(1))
        """,
    "a function called net": """
        import torch

        def net(x):
            return x * 2

        @torch.no_grad()
        def predict(x):
            return net(x).argmax(-1).item()
        """,
    "the jacobian": """
        import torch
        from torchvision.models import resnet18

        def sensitivity(x):
            net = resnet18(weights="DEFAULT").eval()
            jac = torch.autograd.functional.jacobian(lambda a: net(a), x)
            print(jac.abs().max().item())
        """,
    "vmap over gradients": """
        import torch
        from torchvision.models import resnet18

        def influence(x):
            net = resnet18(weights="DEFAULT").eval()
            grads = torch.func.vmap(torch.func.grad(lambda a: net(a[None]).sum()))(x)
            return grads.cpu().numpy()
        """,
    "captum": """
        from captum.attr import IntegratedGradients
        from torchvision.models import resnet18

        def explain(x):
            net = resnet18(weights="DEFAULT").eval()
            target = IntegratedGradients(net).attribute(x, target=1)
            print(target.abs().sum().item())
        """,
    "an image optimised in latent space": """
        import torch

        def project(G, target, steps):
            G.eval()
            z = torch.zeros(1, 512, requires_grad=True)
            optimizer = torch.optim.Adam([z], lr=0.1)
            for _ in range(steps):
                loss = (G(z) - target).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                print(loss.item())
            return z.detach()
        """,
    "deep dream": """
        import torch
        from torchvision.models import inception_v3

        def dream(image, layer, steps):
            net = inception_v3(weights="DEFAULT").eval()
            image = image.clone().requires_grad_(True)
            for _ in range(steps):
                loss = net(image).norm()
                loss.backward()
                with torch.no_grad():
                    image += 0.01 * image.grad
                    image.grad.zero_()
                print(loss.item())
            return image
        """,
    "norms frozen by a function while training": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        def freeze_bn(net):
            for m in net.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.eval()

        def fit(loader, val_loader, loss_fn):
            net = resnet18(weights="DEFAULT")
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for epoch in range(10):
                net.train()
                freeze_bn(net)
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(net(x), y).backward()
                    optimizer.step()
                net.eval()
                with torch.no_grad():
                    print(sum((net(x).argmax(1) == y).sum().item() for x, y in val_loader))
        """,
    "a generator evaluated and set back": """
        import torch
        from torchvision.utils import save_image

        def train(G, D, loader, opt_g, opt_d, bce, z):
            G.train()
            for step, real in enumerate(loader):
                loss = bce(D(G(torch.randn(8, 100))), torch.ones(8))
                opt_g.zero_grad()
                loss.backward()
                opt_g.step()
                if step % 500 == 0:
                    G.eval()
                    with torch.no_grad():
                        save_image(G(z), f"{step}.png")
                    G.train()
        """,
    "lost and built again": """
        import torch
        from torchvision.models import resnet18

        def main(x, loader, loss_fn):
            net = resnet18()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for a, b in loader:
                optimizer.zero_grad()
                loss_fn(net(a), b).backward()
                optimizer.step()
            del net
            net = resnet18(weights="DEFAULT").eval()
            with torch.no_grad():
                print(net(x).argmax())
        """,
    "a batch of lazy shapes": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
                with torch.no_grad():
                    n = self.conv(torch.zeros(1, 3, 32, 32)).flatten(1).shape[1]
                self.fc = nn.Linear(n, 10)

            def forward(self, x):
                return self.fc(self.conv(x).flatten(1))
        """,
    "a frozen encoder in a training step": """
        import torch
        from torch import nn

        class Probe(nn.Module):
            def __init__(self, encoder):
                super().__init__()
                self.encoder = encoder
                self.head = nn.Linear(512, 10)

            def forward(self, x):
                with torch.no_grad():
                    h = self.encoder(x)
                return self.head(h)

        def fit(probe, loader, optimizer, loss_fn):
            probe.train()
            probe.encoder.eval()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(probe(x), y).backward()
                optimizer.step()
        """,
    "accuracy on the training batch": """
        import torch

        def train(model, loader, optimizer, loss_fn):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()
                with torch.no_grad():
                    acc = (model(x).argmax(1) == y).float().mean().item()
                print(acc)
        """,
    "a summary of the model": """
        import torch
        from torchinfo import summary
        from torchvision.models import resnet18

        net = resnet18()
        summary(net, (1, 3, 224, 224))
        print(sum(p.numel() for p in net.parameters()))
        """,
    "counting operations": """
        import torch
        from fvcore.nn import FlopCountAnalysis
        from torchvision.models import resnet18

        net = resnet18()
        flops = FlopCountAnalysis(net, torch.ones(1, 3, 224, 224))
        print(flops.total())
        """,
    "Module.eval called on the class": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT")
            nn.Module.train(net, False)
            return net(x).argmax(-1).item()
        """,
    "a template method": """
        import torch
        from torchvision.models import resnet18

        class Job:
            def run(self, x):
                self.setup()
                with torch.no_grad():
                    return self.predict(x)

        class Classify(Job):
            def setup(self):
                self.net = resnet18(weights="DEFAULT")
                self.net.eval()

            def predict(self, x):
                return self.net(x).argmax(-1).item()
        """,
    "all attributes that are modules": """
        import torch
        from torch import nn
        from torchvision.models import resnet18, resnet50

        class Pair:
            def __init__(self):
                self.a = resnet18(weights="DEFAULT")
                self.b = resnet50(weights="DEFAULT")
                for value in vars(self).values():
                    if isinstance(value, nn.Module):
                        value.eval()

            @torch.no_grad()
            def predict(self, x):
                return (self.a(x) + self.b(x)).argmax(-1).item()
        """,
}

FOUND = {
    "a function that only looks at the model": """
        import torch
        from torchvision.models import resnet18

        def count(net):
            return sum(p.numel() for p in net.parameters())

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT")
            print(count(net))
            return net(x).argmax(-1).item()  # ML101
        """,
    "a loop over the other attributes": """
        import torch
        from torchvision.models import resnet18, resnet50

        class Pair:
            def __init__(self):
                self.a = resnet18(weights="DEFAULT")
                self.b = resnet50(weights="DEFAULT")
                for net in [self.a]:
                    net.eval()

            @torch.no_grad()
            def predict(self, x):
                first = self.a(x)
                return (first + self.b(x)).argmax(-1).item()  # ML101
        """,
    "a template method that forgets": """
        import torch
        from torchvision.models import resnet18

        class Job:
            def run(self, x):
                self.setup()
                with torch.no_grad():
                    return self.predict(x)

        class Classify(Job):
            def setup(self):
                self.net = resnet18(weights="DEFAULT")

            def predict(self, x):
                return self.net(x).argmax(-1).item()  # ML101

        Classify().run(torch.ones(1, 3, 224, 224))
        """,
    "a cache without eval": """
        import torch
        from torchvision.models import resnet18

        CACHE = {}

        @torch.no_grad()
        def predict(name, x):
            if name not in CACHE:
                CACHE[name] = resnet18(weights="DEFAULT")
            return CACHE[name](x).argmax(-1).item()  # ML101
        """,
    "a constant at the top": """
        import torch
        from torchvision.models import resnet18

        TRAIN = False

        net = resnet18(weights="DEFAULT")
        if TRAIN:
            net.eval()
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())  # ML101
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
