"""Models behind classes, helpers, decorators and globals, right and wrong."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

SILENT: dict[str, str | Mapping[str, str]] = {
    "a method of a base class in another file, of a model that is ready": {
        "base.py": """
            import torch
            from torch import nn

            class Base(nn.Module):
                @torch.no_grad()
                def predict(self, x):
                    return self(x).argmax(-1)
            """,
        "middle.py": """
            from base import Base

            class Middle(Base):
                pass
            """,
        "net.py": """
            from middle import Middle
            from torch import nn

            class Net(Middle):
                def __init__(self):
                    super().__init__()
                    self.drop = nn.Dropout(0.5)

                def forward(self, x):
                    return self.drop(x)
            """,
        "app.py": """
            import torch
            from net import Net

            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            net.eval()

            def answer(row):
                return net.predict(row).tolist()
            """,
    },
    "gradients required under no_grad": """
        import torch
        from torchvision.models import resnet18

        def evaluate(loader):
            model = resnet18(weights="DEFAULT").eval()
            model.requires_grad_(True)
            hits = 0
            with torch.no_grad():
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()
            print(hits)
        """,
    "unfrozen for saliency": """
        import torch
        from torchvision.models import resnet18

        def saliency(x):
            model = resnet18(weights="DEFAULT").eval()
            model.requires_grad_(True)
            x.requires_grad_()
            score = model(x).max()
            score.backward()
            return x.grad.abs()
        """,
    "forces at evaluation": """
        import torch

        def evaluate(model, loader):
            model.eval()
            errors = []
            for pos, target in loader:
                pos.requires_grad_(True)
                energy = model(pos)
                forces = -torch.autograd.grad(energy.sum(), pos)[0]
                errors.append((forces - target).abs().mean().item())
            print(sum(errors) / len(errors))
        """,
    "forces trained on": """
        import torch

        def train(model, loader, opt):
            model.train()
            for pos, target in loader:
                pos.requires_grad_(True)
                energy = model(pos)
                forces = -torch.autograd.grad(energy.sum(), pos, create_graph=True)[0]
                loss = (forces - target).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                print(loss.item())
        """,
    "gradient penalty": """
        import torch

        def gradient_penalty(D, real, fake):
            alpha = torch.rand(real.size(0), 1, 1, 1)
            mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
            score = D(mixed)
            g = torch.autograd.grad(score, mixed, torch.ones_like(score), create_graph=True, retain_graph=True)[0]
            return ((g.flatten(1).norm(2, dim=1) - 1) ** 2).mean()

        def train(G, D, loader, opt_d):
            for real in loader:
                fake = G(torch.randn(real.size(0), 100)).detach()
                loss = D(fake).mean() - D(real).mean() + 10 * gradient_penalty(D, real, fake)
                opt_d.zero_grad()
                loss.backward()
                opt_d.step()
        """,
    "base module in another file": {
        "app.py": """
            import torch
            from core import BaseModel
            from torch import nn

            class Classifier(BaseModel):
                def __init__(self):
                    super().__init__()
                    self.net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1))

                def forward(self, x):
                    return self.net(x)

            if __name__ == "__main__":
                model = Classifier()
                model.load("a.pt")
                print(model.predict(torch.ones(1, 3)))
            """,
        "core.py": """
            import torch
            from torch import nn

            class BaseModel(nn.Module):
                def load(self, path):
                    self.load_state_dict(torch.load(path, weights_only=True))
                    self.eval()

                @torch.no_grad()
                def predict(self, x):
                    return self(x).argmax(-1)
            """,
    },
    "predictor base sets up the model": {
        "app.py": """
            import torch
            from base import BasePredictor

            class Predictor(BasePredictor):
                def build(self):
                    from torchvision.models import resnet18
                    return resnet18()

                def __call__(self, x):
                    with torch.no_grad():
                        return self.model(x).argmax(-1)
            """,
        "base.py": """
            import torch

            class BasePredictor:
                def __init__(self, ckpt):
                    self.model = self.build()
                    self.model.load_state_dict(torch.load(ckpt, weights_only=True))
                    self.model.eval()

                def build(self):
                    raise NotImplementedError
            """,
    },
    "singleton class handler": """
        import os
        import torch
        from torchvision.models import resnet18

        class ScoringService:
            model = None

            @classmethod
            def get_model(cls):
                if cls.model is None:
                    net = resnet18()
                    net.load_state_dict(torch.load(os.path.join("/opt/ml", "m.pt"), weights_only=True))
                    net.eval()
                    cls.model = net
                return cls.model

            @classmethod
            def predict(cls, x):
                clf = cls.get_model()
                with torch.no_grad():
                    return clf(x).argmax(-1).tolist()
        """,
    "sagemaker model_fn": """
        import json
        import torch
        from torchvision.models import resnet18

        def model_fn(model_dir):
            model = resnet18(num_classes=2)
            with open(model_dir + "/model.pth", "rb") as f:
                model.load_state_dict(torch.load(f, weights_only=True))
            return model.to("cuda").eval()

        def predict_fn(data, model):
            with torch.no_grad():
                return model(data.to("cuda")).argmax(1)
        """,
    "lazy global model": """
        import torch
        from torchvision.models import resnet18

        _model = None

        def get_model():
            global _model
            if _model is None:
                _model = resnet18(weights="DEFAULT")
                _model.eval()
            return _model

        def predict(x):
            with torch.no_grad():
                return get_model()(x).argmax(-1).item()
        """,
    "tuple return model and optimizer": """
        import torch
        from torchvision.models import resnet18

        def build(path):
            net = resnet18()
            opt = torch.optim.SGD(net.parameters(), 0.1)
            ckpt = torch.load(path, weights_only=True)
            net.load_state_dict(ckpt["net"])
            opt.load_state_dict(ckpt["opt"])
            return net, opt, ckpt["epoch"]

        def test(path, x):
            net, _, epoch = build(path)
            net.eval()
            with torch.no_grad():
                print(net(x).argmax(-1))
        """,
    "helper to set modes": """
        import torch

        def set_mode(models, train):
            for m in models:
                if train:
                    m.train()
                else:
                    m.eval()

        def epoch(enc, dec, loader, val, opt):
            set_mode([enc, dec], True)
            for x, y in loader:
                loss = (dec(enc(x)) - y).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            set_mode([enc, dec], False)
            with torch.no_grad():
                print(sum((dec(enc(x)) - y).pow(2).mean().item() for x, y in val))
        """,
    "seq2seq train and evaluate": """
        import random
        import torch
        from torch import nn

        def train(input_tensor, target_tensor, encoder, decoder, eo, do, criterion):
            h = encoder.initHidden()
            eo.zero_grad()
            do.zero_grad()
            loss = 0
            for ei in range(input_tensor.size(0)):
                out, h = encoder(input_tensor[ei], h)
            for di in range(target_tensor.size(0)):
                out, h = decoder(target_tensor[di], h)
                loss += criterion(out, target_tensor[di])
            loss.backward()
            eo.step()
            do.step()
            return loss.item() / target_tensor.size(0)

        def evaluate(encoder, decoder, sentence, max_length=10):
            with torch.no_grad():
                x = tensor_from(sentence)
                h = encoder.initHidden()
                for ei in range(x.size(0)):
                    out, h = encoder(x[ei], h)
                words = []
                for di in range(max_length):
                    out, h = decoder(torch.tensor([[0]]), h)
                    topv, topi = out.data.topk(1)
                    words.append(topi.item())
                return words

        def main(pairs):
            encoder = nn.GRU(10, 10)
            decoder = nn.GRU(10, 10)
            eo = torch.optim.SGD(encoder.parameters(), 0.1)
            do = torch.optim.SGD(decoder.parameters(), 0.1)
            for p in pairs:
                train(p[0], p[1], encoder, decoder, eo, do, nn.NLLLoss())
            print(evaluate(encoder, decoder, "a b c"))
        """,
    "engine class with state machine": """
        import torch

        class Engine:
            def __init__(self, model, loss, opt):
                self.model, self.loss, self.opt = model, loss, opt
                self.is_train = True

            def set_train(self):
                self.is_train = True
                self.model.train()

            def set_eval(self):
                self.is_train = False
                self.model.eval()

            def process(self, x, y):
                out = self.model(x)
                loss = self.loss(out, y)
                if self.is_train:
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
                return loss.item()

            def run_eval(self, loader):
                self.set_eval()
                with torch.no_grad():
                    return [self.process(x, y) for x, y in loader]

            def run_train(self, loader):
                self.set_train()
                return [self.process(x, y) for x, y in loader]
        """,
    "mode property setter": """
        import torch
        from torchvision.models import resnet18

        class Net:
            def __init__(self, path):
                self._net = resnet18()
                self._net.load_state_dict(torch.load(path, weights_only=True))

            @property
            def net(self):
                self._net.eval()
                return self._net

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1)
        """,
    "context manager evaluating": """
        import contextlib
        import torch

        @contextlib.contextmanager
        def evaluating(net):
            was = net.training
            try:
                net.eval()
                yield net
            finally:
                net.train(was)

        def fit(net, loader, val, opt):
            for _ in range(3):
                for x, y in loader:
                    net.train()
                    loss = (net(x) - y).pow(2).mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                with evaluating(net), torch.no_grad():
                    print(sum((net(x) - y).abs().mean().item() for x, y in val))
        """,
    "decorator of the project that evaluates": """
        import functools
        import torch

        def eval_mode(fn):
            @functools.wraps(fn)
            def wrapped(self, *args, **kwargs):
                training = self.net.training
                self.net.eval()
                with torch.no_grad():
                    out = fn(self, *args, **kwargs)
                self.net.train(training)
                return out
            return wrapped

        class Agent:
            def __init__(self, net):
                self.net = net

            @eval_mode
            def predict(self, x):
                return self.net(x).argmax(-1).item()
        """,
    "ddp wrap and eval inner": """
        import torch
        from torch.nn.parallel import DistributedDataParallel as DDP
        from torchvision.models import resnet18

        def main(rank, loader):
            model = resnet18().to(rank)
            model.load_state_dict(torch.load("a.pt", weights_only=True))
            ddp = DDP(model, device_ids=[rank])
            ddp.eval()
            with torch.no_grad():
                for x in loader:
                    print(model(x).argmax(-1), ddp.module(x).argmax(-1))
        """,
    "k-fold cross validation": """
        import torch
        from torchvision.models import resnet18

        def run(folds):
            oof = []
            for fold, (trn, val) in enumerate(folds):
                model = resnet18(num_classes=2)
                opt = torch.optim.Adam(model.parameters())
                for epoch in range(3):
                    model.train()
                    for x, y in trn:
                        loss = torch.nn.functional.cross_entropy(model(x), y)
                        opt.zero_grad()
                        loss.backward()
                        opt.step()
                    model.eval()
                    with torch.no_grad():
                        for x, y in val:
                            oof.append(model(x).softmax(1).cpu().numpy())
            return oof
        """,
    "vae sampling during training": """
        import torch
        from torch import nn

        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.enc = nn.Sequential(nn.Linear(784, 400), nn.BatchNorm1d(400), nn.ReLU(), nn.Linear(400, 40))
                self.dec = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid())

            def decode(self, z):
                return self.dec(z)

            def forward(self, x):
                mu, logvar = self.enc(x).chunk(2, -1)
                return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar

        model = VAE()
        optimizer = torch.optim.Adam(model.parameters())

        def train(epoch):
            model.train()
            for x, _ in train_loader:
                optimizer.zero_grad()
                recon, mu, logvar = model(x)
                loss = loss_function(recon, x, mu, logvar)
                loss.backward()
                optimizer.step()

        def test(epoch):
            model.eval()
            total = 0
            with torch.no_grad():
                for x, _ in test_loader:
                    recon, mu, logvar = model(x)
                    total += loss_function(recon, x, mu, logvar).item()

        for epoch in range(1, 10):
            train(epoch)
            test(epoch)
            with torch.no_grad():
                sample = torch.randn(64, 20)
                sample = model.decode(sample).cpu()
                save_image(sample.view(64, 1, 28, 28), "results/%d.png" % epoch)
        """,
    "volatile-free half precision server": """
        import torch
        from aiohttp import web
        from torchvision.models import mobilenet_v2

        async def init_app():
            app = web.Application()
            app["model"] = mobilenet_v2(weights="DEFAULT").half().eval()
            app.router.add_post("/", handle)
            return app

        async def handle(request):
            x = await read(request)
            with torch.inference_mode():
                out = request.app["model"](x)
            return web.json_response({"c": out.argmax(-1).item()})
        """,
    "celery task with model on task class": """
        import torch
        from celery import Task
        from torchvision.models import resnet18

        class PredictTask(Task):
            abstract = True

            def __init__(self):
                super().__init__()
                self.model = None

            def __call__(self, *args, **kwargs):
                if not self.model:
                    self.model = resnet18(weights="DEFAULT")
                    self.model.eval()
                return self.run(*args, **kwargs)

            def run(self, x):
                with torch.no_grad():
                    return self.model(x).argmax(-1).item()
        """,
    "pyqt window": """
        import torch
        from PyQt5.QtWidgets import QMainWindow
        from torchvision.models import resnet18

        class Window(QMainWindow):
            def __init__(self):
                super().__init__()
                self.model = None
                self.button.clicked.connect(self.on_predict)
                self.init_model()

            def init_model(self):
                self.model = resnet18(weights="DEFAULT")
                self.model.eval()

            def on_predict(self):
                with torch.no_grad():
                    self.label.setText(str(self.model(self.x).argmax(-1).item()))
        """,
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "a method of a base class in another file, of a model in training mode": {
        "base.py": """
            import torch
            from torch import nn

            class Base(nn.Module):
                @torch.no_grad()
                def predict(self, x):
                    return self(x).argmax(-1)  # ML101
            """,
        "middle.py": """
            from base import Base

            class Middle(Base):
                pass
            """,
        "net.py": """
            from middle import Middle
            from torch import nn

            class Net(Middle):
                def __init__(self):
                    super().__init__()
                    self.drop = nn.Dropout(0.5)

                def forward(self, x):
                    return self.drop(x)
            """,
        "app.py": """
            import torch
            from net import Net

            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            net.float()

            def answer(row):
                return net.predict(row).tolist()
            """,
    },
    "a frozen model unfrozen for evaluation": """
        import torch
        from torchvision.models import resnet18

        def evaluate(loader):
            model = resnet18(weights="DEFAULT").eval()
            model.requires_grad_(True)  # ML202
            hits = 0
            for x, y in loader:
                hits += (model(x).argmax(1) == y).sum().item()
            print(hits)
        """,
    "forces at evaluation keep a second graph": """
        import torch

        def evaluate(model, loader):
            model.eval()
            errors = []
            for pos, target in loader:
                pos.requires_grad_(True)
                energy = model(pos)
                forces = -torch.autograd.grad(energy.sum(), pos, create_graph=True)[0]  # ML202
                errors.append((forces - target).abs().mean().item())
            print(sum(errors) / len(errors))
        """,
    "base module in another file, wrong": {
        "app.py": """
            import torch
            from core import BaseModel
            from torch import nn

            class Classifier(BaseModel):
                def __init__(self):
                    super().__init__()
                    self.net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1))

                def forward(self, x):
                    return self.net(x)

            if __name__ == "__main__":
                model = Classifier()
                model.load("a.pt")
                print(model.predict(torch.ones(1, 3)))
            """,
        "core.py": """
            import torch
            from torch import nn

            class BaseModel(nn.Module):
                def load(self, path):
                    self.load_state_dict(torch.load(path, weights_only=True))

                @torch.no_grad()
                def predict(self, x):
                    return self(x).argmax(-1)  # ML101
            """,
    },
    "predictor base sets up the model, wrong": {
        "app.py": """
            import torch
            from base import BasePredictor

            class Predictor(BasePredictor):
                def build(self):
                    from torchvision.models import resnet18
                    return resnet18()

                def __call__(self, x):
                    with torch.no_grad():
                        return self.model(x).argmax(-1)  # ML101
            """,
        "base.py": """
            import torch

            class BasePredictor:
                def __init__(self, ckpt):
                    self.model = self.build()
                    self.model.load_state_dict(torch.load(ckpt, weights_only=True))

                def build(self):
                    raise NotImplementedError
            """,
    },
    "singleton class handler, wrong": """
        import os
        import torch
        from torchvision.models import resnet18

        class ScoringService:
            model = None

            @classmethod
            def get_model(cls):
                if cls.model is None:
                    net = resnet18()
                    net.load_state_dict(torch.load(os.path.join("/opt/ml", "m.pt"), weights_only=True))
                    cls.model = net
                return cls.model

            @classmethod
            def predict(cls, x):
                clf = cls.get_model()
                with torch.no_grad():
                    return clf(x).argmax(-1).tolist()  # ML101
        """,
    "lazy global model, wrong": """
        import torch
        from torchvision.models import resnet18

        _model = None

        def get_model():
            global _model
            if _model is None:
                _model = resnet18(weights="DEFAULT")
            return _model

        def predict(x):
            with torch.no_grad():
                return get_model()(x).argmax(-1).item()  # ML101
        """,
    "lru_cache loader, wrong": """
        from functools import lru_cache
        import torch
        from torchvision.models import resnet18

        @lru_cache(maxsize=1)
        def load_model(path):
            net = resnet18(num_classes=3)
            net.load_state_dict(torch.load(path, weights_only=True))
            return net

        def predict(path, x):
            net = load_model(path)
            with torch.inference_mode():
                return net(x).softmax(-1).tolist()  # ML101
        """,
    "tuple return model and optimizer, wrong": """
        import torch
        from torchvision.models import resnet18

        def build(path):
            net = resnet18()
            opt = torch.optim.SGD(net.parameters(), 0.1)
            ckpt = torch.load(path, weights_only=True)
            net.load_state_dict(ckpt["net"])
            opt.load_state_dict(ckpt["opt"])
            return net, opt, ckpt["epoch"]

        def test(path, x):
            net, _, epoch = build(path)
            with torch.no_grad():
                print(net(x).argmax(-1))  # ML101
        """,
    "helper sets only one mode": """
        import torch

        def to_eval(*models):
            for m in models:
                m.eval()

        def epoch(enc, dec, loader, val, opt):
            enc.train()
            dec.train()
            for x, y in loader:
                loss = (dec(enc(x)) - y).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            to_eval(enc)
            total = 0
            with torch.no_grad():
                for x, y in val:
                    z = enc(x)
                    total += (dec(z) - y).pow(2).mean().item()  # ML101
            print(total)
        """,
    "cyclegan test, wrong": {
        "app.py": """
            import argparse
            import torch
            from models import Generator

            parser = argparse.ArgumentParser()
            parser.add_argument("--generator_A2B", default="out/netG_A2B.pth")
            opt = parser.parse_args()
            netG_A2B = Generator(3, 3)
            netG_B2A = Generator(3, 3)
            if opt.cuda:
                netG_A2B.cuda()
                netG_B2A.cuda()
            netG_A2B.load_state_dict(torch.load(opt.generator_A2B, weights_only=True))
            netG_B2A.load_state_dict(torch.load(opt.generator_B2A, weights_only=True))
            netG_A2B.eval()
            for i, batch in enumerate(dataloader):
                with torch.no_grad():
                    fake_B = 0.5 * (netG_A2B(batch["A"]).data + 1.0)
                    fake_A = 0.5 * (netG_B2A(batch["B"]).data + 1.0)  # ML101
                save_image(fake_A, "a.png")
                save_image(fake_B, "b.png")
            """,
        "models.py": """
            from torch import nn

            class Generator(nn.Module):
                def __init__(self, a, b):
                    super().__init__()
                    self.m = nn.Sequential(nn.Conv2d(a, b, 3), nn.BatchNorm2d(b), nn.Dropout(0.5))

                def forward(self, x):
                    return self.m(x)
            """,
    },
    "engine class with state machine, wrong": """
        import torch

        class Engine:
            def __init__(self, model, loss, opt):
                self.model, self.loss, self.opt = model, loss, opt

            def forward_pass(self, x, y):
                out = self.model(x)
                return self.loss(out, y)

            def fit(self, loader, val, epochs):
                for _ in range(epochs):
                    self.model.train()
                    for x, y in loader:
                        loss = self.forward_pass(x, y)
                        self.opt.zero_grad()
                        loss.backward()
                        self.opt.step()
                    self.validate(val)

            def validate(self, loader):
                total = 0.0
                with torch.no_grad():
                    for x, y in loader:
                        total += self.forward_pass(x, y).item()  # ML101
                print(total)
        """,
    "property without eval": """
        import torch
        from torchvision.models import resnet18

        class Net:
            def __init__(self, path):
                self._net = resnet18()
                self._net.load_state_dict(torch.load(path, weights_only=True))

            @property
            def net(self):
                return self._net

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1)  # ML101
        """,
    "decorator of the project that only times": """
        import functools
        import time
        import torch
        from torchvision.models import resnet18

        def timed(fn):
            @functools.wraps(fn)
            def wrapped(*args, **kwargs):
                t = time.time()
                out = fn(*args, **kwargs)
                print(time.time() - t)
                return out
            return wrapped

        class Agent:
            def __init__(self):
                self.net = resnet18(weights="DEFAULT")

            @timed
            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1).item()  # ML101
        """,
    "thread pool predictions": """
        from concurrent.futures import ThreadPoolExecutor
        import torch
        from torchvision.models import resnet18

        model = resnet18(weights="DEFAULT")

        def predict(path):
            with torch.no_grad():
                return model(load(path)).argmax(-1).item()  # ML101

        with ThreadPoolExecutor(4) as pool:
            print(list(pool.map(predict, ["a", "b"])))
        """,
    "dataparallel without eval": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        def main(loader):
            model = nn.DataParallel(resnet18()).cuda()
            model.load_state_dict(torch.load("a.pt", weights_only=True)["state_dict"])
            cudnn_setup()
            with torch.no_grad():
                for x in loader:
                    print(model(x).argmax(-1))  # ML101
        """,
    "submodule only eval": """
        import torch
        from torchvision.models import resnet18

        def main(x):
            model = resnet18()
            model.load_state_dict(torch.load("a.pt", weights_only=True))
            model.layer1.eval()
            with torch.no_grad():
                print(model(x).argmax(-1))  # ML101
        """,
    "eval before rebuild": """
        import torch
        from torchvision.models import resnet18

        def main(x):
            model = resnet18()
            model.eval()
            model = resnet18(num_classes=4)
            model.load_state_dict(torch.load("a.pt", weights_only=True))
            with torch.no_grad():
                print(model(x).argmax(-1))  # ML101
        """,
    "k-fold test prediction, wrong": """
        import numpy as np
        import torch
        from torchvision.models import resnet18

        def run(folds, test_loader):
            preds = []
            for fold in range(5):
                model = resnet18(num_classes=2)
                model.load_state_dict(torch.load(f"fold{fold}.pt", weights_only=True))
                model.to("cuda")
                fold_preds = []
                with torch.no_grad():
                    for x in test_loader:
                        fold_preds.append(model(x.cuda()).softmax(1).cpu().numpy())  # ML101
                preds.append(np.concatenate(fold_preds))
            return np.mean(preds, 0)
        """,
    "siamese eval loop no no_grad": {
        "app.py": """
            import torch
            from net import Siamese

            def test(path, loader):
                net = Siamese()
                net.load_state_dict(torch.load(path, weights_only=True))
                net.eval()
                correct = 0
                for a, b, label in loader:
                    out = net(a, b)  # ML201
                    pred = (out > 0.5).long()
                    correct += (pred == label).sum().item()
                print(correct)
            """,
        "net.py": """
            from torch import nn

            class Siamese(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.c = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4))

                def forward(self, a, b):
                    return (self.c(a) - self.c(b)).abs().mean((1, 2, 3))
            """,
    },
    "pyqt window, wrong": """
        import torch
        from PyQt5.QtWidgets import QMainWindow
        from torchvision.models import resnet18

        class Window(QMainWindow):
            def __init__(self):
                super().__init__()
                self.model = None
                self.button.clicked.connect(self.on_predict)
                self.init_model()

            def init_model(self):
                self.model = resnet18(weights="DEFAULT")

            def on_predict(self):
                with torch.no_grad():
                    self.label.setText(str(self.model(self.x).argmax(-1).item()))  # ML101
        """,
}

RULES = ("ML101", "ML102", "ML103", "ML109", "ML201", "ML202", "ML204")


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, files: str | Mapping[str, str]) -> None:
    lint(files, rules=RULES)


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, files: str | Mapping[str, str]) -> None:
    lint(files, rules=RULES)
