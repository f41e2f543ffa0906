"""What the rules got wrong in repositories seen for the first time: silent as it is, found in a wrong neighbour."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from modellint.diagnostic import Confidence
from modellint.sources import read_source
from tests.static.conftest import Lint, analyzer, write

GENERATION = """
    import torch

    def generate(model, tokens, count):
        for _ in range(count):
            with torch.no_grad():
                scores = model(tokens)  # ML101
            tokens = torch.cat((tokens, scores[:, -1].argmax(-1, keepdim=True)), dim=1)
        return tokens
    """
NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.drop(x)
    """


def notebook(*cells: str) -> str:
    listed = [{"cell_type": "code", "source": dedent(text).splitlines(keepends=True)} for text in cells]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4})


def found_with(root: Path, *cells: str) -> list[str]:
    """Return the codes found in a helper that a notebook of these cells calls."""
    files = {"helper.py": GENERATION, "net.py": NET, "book.ipynb": notebook(*cells)}
    paths = write(root, files)
    return [d.code for d in analyzer(root, paths, ["ML101"]).check(read_source(root / "helper.py"))]


IMPORTS = """
    import torch
    from helper import generate
    from net import Net
    model = Net()
    model.load_state_dict(torch.load("a.pt", weights_only=True))
    """


def test_a_notebook_that_readies_the_model_is_a_caller(tmp_path: Path) -> None:
    assert found_with(tmp_path, IMPORTS, "model.eval();", "print(generate(model, x, 3))") == []


def test_a_cell_that_does_not_parse_costs_a_notebook_nothing_else(tmp_path: Path) -> None:
    assert found_with(tmp_path, IMPORTS, "model.eval();", "print 'a'", "print(generate(model, x, 3))") == []


def test_a_notebook_that_leaves_the_model_in_training_mode_is_a_wrong_caller(tmp_path: Path) -> None:
    assert found_with(tmp_path, IMPORTS, "print(generate(model, x, 3))") == ["ML101"]


LABELS = """
    import torch
    from torch import nn

    class Classifier(nn.Module):
        def label_sentences(self, sentences):
            self.eval()
            return torch.argmax(self(sentences), dim=1).tolist()  # ML201
    """
LABELLER = """
    import torch
    from files import load

    class Processor:
        def set_up(self, path):
            self.model = load(path)

        def process(self, sentences):
            with torch.no_grad():
                return self.model.label_sentences(sentences)
    """
EVALUATOR = """
    class Evaluator:
        def embed(self, model, sentences):
            model.eval()
            return model.encode(sentences).tolist()  # ML201
    """
ENCODER = """
    import torch
    from torch import nn

    class Encoder(nn.Module):
        @torch.inference_mode()
        def encode(self, sentences):
            return self(sentences)
    """
ENGINES = """
    import torch
    from monai.networks.nets import DenseNet121
    from monai.networks.utils import eval_mode

    def train(names, loader, held_out, loss_function, optimizer):
        runs = {{name: DenseNet121(2, 1, 2) for name in names}}
        for x, y in loader:
            for name in runs:
                loss_function(runs[name](x), y).backward()
                optimizer.step()
        with {context}:
            for x in held_out:
                for name in runs:
                    print(runs[name](x).argmax(-1).tolist())  # ML101
    """
DESCRIPTORS = """
    from torch import nn

    class _Selection(nn.Module):
        def __init__(self, scalers):
            super().__init__()
            self.scalers = {registry}
            for name in scalers:
                self.scalers[name] = scalers[name]

    class Net(nn.Module):
        def __init__(self, names):
            super().__init__()
            self.scalers = {{name: nn.Linear(1, 4) for name in names}}  # ML106
            self.selection = _Selection(scalers=self.scalers)
    """
UNCERTAIN = """
    import torch.nn.functional as F
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(4, 4)

        def forward(self, inputs):
            x, {flag} = inputs
            x = self.hidden(x)
            if {flag}:
                x = F.dropout(x, 0.1)  # ML104
            return x
    """
RESIDUALS = """
    import torch

    class Physics:
        def __init__(self, model):
            self.model = model

        def boundary_loss(self, points, values):
            total = torch.tensor(0.0)
            for x, y in zip(points, values):
                slope = torch.autograd.grad(self.model(x).sum(), x, create_graph=True)[0]
                total += torch.mean((slope - y) ** 2)
            return total
    """
EPOCH = """
    class Trainer:
        def epoch(self, model, loader, optimizer, loss_function):
            total = 0.0
            for x, y in loader:
                optimizer.zero_grad()
                loss = loss_function(model(x), y)
                loss.backward()
                optimizer.step()
                total += loss{method}  # ML204
            return total / len(loader)
    """
STOCHASTIC = """
    import torch
    from torch import nn

    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.rate = nn.Linear(4, 1)

        def forward(self, x):
            drawn = torch.rand(len(x), 1)  # ML108
            return x * (drawn <= {chance})
    """
FORECAST = """
    import torch

    def report(path, series):
        model = torch.load(path, weights_only=False)
        model.eval()
        print(model.{method}(series).tolist())  # ML201
    """
ATTACK = """
    import torch

    class {name}:
        def __init__(self, model):
            self.model = model
            self.model.load_state_dict(torch.load("a.pt", weights_only=True))
            self.model.train()

        def run_batch(self, batch):
            with torch.no_grad():
                return self.model(batch).argmax(-1).tolist()  # ML101
    """
MEDICAL = """
    import torch
    from monai.networks.nets import BasicUNet, UNet
    from monai.networks.layers import Norm

    def predict(x):
        net = {built}
        net.load_state_dict(torch.load("a.pt", weights_only=True))
        with torch.no_grad():
            print(net(x).argmax(1).tolist())  # ML101{severity}
    """


PAINTER = """
    import torch
    from torch import nn

    class Painter(nn.Module):
        def __init__(self):
            super().__init__()
            self.generator = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
            self.critic = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

        def forward(self, x):
            return {forward}

        def fit(self, x, optimizer):
            self.critic(self.generator(x)).mean().backward()
            optimizer.step()

    def show(model, x):
        model.generator.eval()
        with torch.no_grad():
            print(model.forward(x).tolist())  # ML101
        model.generator.train()

    def train(loader, optimizer):
        model = Painter()
        for x in loader:
            model.fit(x, optimizer)
            show(model, x)
    """
STYLE = """
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.layers = layers()

        def forward(self, x):
            return self.layers(x)

    class Model(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.encoder = {encoder}

        def generate(self, x):
            return self.encoder(x)  # ML101

        def forward(self, x):
            return self.encoder(x).mean()

    def train(loader, layers, optimizer, vis):
        model = Model(layers)
        for x in loader:
            optimizer.zero_grad()
            model(x).backward()
            optimizer.step()
        for x in loader:
            vis.save_image(model.generate(x).cpu())
    """
VARIATIONAL = """
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.mu = nn.Linear(4, 4)

        def {name}(self, mu):
            return mu + torch.normal(0, 1, mu.shape)  # ML108

        def forward(self, x):
            mu = self.mu(x)
            return mu, self.{name}(mu)
    """


SPARSE = """
    import torch
    from torch import nn

    class ProbAttention(nn.Module):
        def forward(self, query, key):
            {name} = torch.rand(query.shape[1], 5).mul(key.shape[1]).long()  # ML108
            return query @ key[:, {name}].transpose(-2, -1)
    """


BY_ARGUMENT = """
    import torch
    from nets import build

    def test(loader):
        head = build("head")
        head.load_state_dict(torch.load("a.pt", weights_only=True))
        head.train()
        with torch.no_grad():
            for x, y in loader:
                print(head(x, {argument}).argmax(-1).tolist())  # ML101
    """
INITIALISED = """
    import torch

    def data_dependent_init(model, loader):
        model.train()
        with torch.no_grad():
            for x in loader:
                {target} = model.forward(x)  # ML101
        {after}
    """
CRITERION = """
    import torch

    def evaluate({name}, loader):
        with torch.no_grad():
            for x, y in loader:
                print({name}(x, y).item())  # ML101
    """
VOCODER = """
    import torch
    from factories import setup_model

    def main(loader, optimizer, loss_function, path):
        model = setup_model()
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss_function(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            torch.save(model.generate(loader[0]), path)  # ML101
    """
WAVES = """
    import torch
    from torch import nn

    class Waves(nn.Module):
        def generate(self, x):
            {switch}
            with torch.no_grad():
                return self(x).tolist()
    """
SCORES = """
    import torch

    def score(model, tokens):
        with torch.no_grad():
            return model(tokens).log_softmax(-1).max().item()  # ML101

    def main(table, model):
        {use}
    """
TEACHER = """
    import random
    from torch import nn

    class Decoder(nn.Module):
        def forward(self, x, targets, ratio=0.5):
            for target in targets:
                if random.random() < {chance}:  # ML108
                    x = target
            return x
    """
UNREACHABLE = """
    import torch
    from torch import nn

    class Head(nn.Module):
        def forward(self, x, noise=None):
            if x.ndim == 2:
                {first}
                noise = torch.randn(4)  # ML108
                return x + noise
            return x
    """
HUB = """
    import torch

    models = {{}}

    def predict(name, image):
        models[name].{method}()
        return models[name](image).tolist()  # ML201

    for name in ("a", "b"):
        models[name] = torch.hub.load({repository!r}, name, pretrained=True)
    """
REFINERS = """
    import torch
    from torch import nn
    from config import Configurable

    class Refiner(Configurable, nn.Module):
        def __init__(self, points):
            super().__init__()
            self.points = {points}

        def forward(self, x):
            return self.prepare(x) + self.points

    class Renderer(nn.Module):
        def __init__(self):
            super().__init__()
            self.refiners = {{"train": Refiner(64), "eval": Refiner(8)}}  # ML106
    """
SOLVER = """
    import torch

    class Solver:
        def run_epoch(self):
            self.run_stage("train", self.train)
            with {context}:
                self.run_stage("valid", self.valid)

        def common(self, stage):
            self.is_training = stage == "train"
            self.model.train(self.is_training)
            for batch in self.loaders[stage]:
                self.run_step(batch)

        def train(self):
            return self.common("train")

        def valid(self):
            return self.common("valid")
    """
DIFFUSION = """
    from solver import Solver
    from torch import nn

    class Diffusion(Solver):
        def build(self):
            self.model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

        def run_step(self, batch):
            loss = self.model(batch).mean()  # ML201
            if self.is_training:
                loss.backward()
            print(loss.item())
    """


CLASSES = """
    import torch.nn.functional as F

    def train(loader, model, optimizer, count):
        distance = 0.0
        {before}
        for x, y in loader:
            optimizer.zero_grad()
            scores = model(x)
            F.cross_entropy(scores, y).backward()
            optimizer.step()
            {inside}
            for label in range(count):
                part += 2 * F.nll_loss(scores[label], y)  # ML204
        print(part)
    """
AVERAGED = """
    import torch

    def average(model, loader):
        model.load_state_dict(torch.load("a.pt", weights_only=True))
        with torch.no_grad():
            model.train()
            for x, y in loader:
                {use}  # ML101
        return model
    """
SALIENCY = """
    def attack(model, images, other):
        model.eval()
        images.requires_grad_()  # ML202
        print(model(images).argmax(-1).tolist())
        {then}
    """
MATCHING = """
    from files import load

    def rank(path, samples):
        model = load(path)
        model.eval()
        print(model.forward_itm(samples).tolist())  # ML201
    """
MATCHER = """
    import torch
    from torch import nn

    class Matcher(nn.Module):
        def forward_itm(self, samples):
            {context}:
                return self(samples)
    """
CAPTIONS = """
    from torch import nn

    class Captions(nn.Module):
        def __init__(self, vision):
            super().__init__()
            self.vision = vision.eval()

        def predict_answers(self, samples):
            embedded = self.vision(samples)  # ML201
            return {result}

        def forward(self, samples):
            return self.predict_answers(samples)
    """
DRAWN = """
    import torch
    from torch import nn

    class {name}(nn.Module):
        def forward(self, x):
            shift = torch.rand(1)  # ML108
            return {result}
    """
TOKENS = """
    import torch.nn.functional as F
    from torch import nn

    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(4, 4)
            self.logits = nn.Parameter(self.encoder.weight)

        def forward(self, x):
            chosen = {logits}
            return F.gumbel_softmax(chosen, dim=-1)  # ML108
    """
REDUCED = """
    def reduce(results, {name}):
        {name}.eval()
        print({name}(results).item())  # ML201
    """
RUNNER = """
    import torch

    class Runner:
        def train(self, loader, optimizer):
            for x, y in loader:
                optimizer.zero_grad()
                self.model(x).backward()  # ML103
                optimizer.step()
                self.evaluate(loader)

        def evaluate(self, loader):
            {kept}
            self.model.eval()
            with torch.no_grad():
                for x, y in loader:
                    print(self.model(x).argmax(-1).tolist())
            {restored}

        def prepare(self):
            self.model = torch.load("a.pt", weights_only=False)
            self.model.train()
    """
TRIED = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(x)

    if __name__ == "__main__":
        net = Net()
        {load}
        net.eval()
        print((net(torch.ones(4)) - 1).sum().item())  # ML201
    """
CLASSIFIER = """
    import pytorch_lightning as pl
    from transformers import CanineForSequenceClassification

    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = CanineForSequenceClassification.from_pretrained("google/canine-s")

        def forward(self, batch):
            return self.model(**batch)

        def common_step(self, batch):
            logits = self(batch).logits
            return (logits.argmax(-1) == batch["labels"]).sum().item()
    """


EITHER = """
    import torch
    from torch import nn

    def accuracy(net, loader):
        for x, y in loader:
            if isinstance(net, {asked}):
                net.eval()
                print(net(x).argmax(-1).tolist())
                net.train()
            else:
                print(net(x).argmax(-1).tolist())  # ML101
    {call}
    """
TRAINED = """
    def train(loader, optimizer):
        net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
        net.load_state_dict(torch.load("a.pt", weights_only=True))
        with torch.no_grad():
            accuracy(net, loader)
    """


INFOMAX = """
    import torch
    from torch import nn

    class Infomax(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(4, 4)

        def forward(self, x):
            index = torch.rand(len(x)) < 0.5  # ML108
            {name} = x[index]
            return self.encoder(x) - self.encoder({name})
    """


MEASURED = """
    from sklearn.metrics import f1_score

    def measure(scores, y):
        return f1_score(y.cpu(), scores.argmax(1).cpu())

    def train(loader, model, optimizer, loss_function):
        total_{name} = 0
        for x, y in loader:
            optimizer.zero_grad()
            scores = model(x)
            loss = loss_function(scores, y)
            loss.backward()
            optimizer.step()
            total_{name} += {added}  # ML204
        return total_{name} / len(loader)
    """


COMPARED = """
    import torch
    import unittest

    class Comparison({base}):
        def set_up(self):
            self.net = torch.load("a.pt", weights_only=False)
            self.net.eval()

        def predict(self, x):
            print(self.net(x).argmax(-1).tolist())  # ML201
    """
LEARNED = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(x)

    net = Net()
    optimizer = torch.optim.SGD(net.parameters())
    for x, y in torch.load("data.pt", weights_only=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    net.eval()
    print(net(x).argmax(-1).tolist())  # ML201
    """


PADDLE = """
    import {library}
    from models import build

    def evaluate(path, loader):
        model = build(path)
        model.eval()
        for x in loader:
            print(model(x).argmax(-1).tolist())  # ML201
    """


FEW_SHOTS = """
    import torch

    def {name}(learner, optimizer, loss, shots, queries):
        learner.load_state_dict(loss.state)
        learner.train()
        optimizer.zero_grad()
        loss(learner(shots)).backward()
        optimizer.step()
        with torch.no_grad():
            print(learner(queries).argmax(-1).tolist())  # ML101
    """
POINTER = """
    from torch import nn

    class Optimizer(nn.Module):
        def __init__(self, model):
            super().__init__()
            assert isinstance(model, nn.Module)
            self.info = {{"model": {kept}}}  # ML106

        def forward(self, x):
            return self.info["model"](x)
    """


SCRIPT = """
    import torch
    from torchvision.models import resnet18

    model = resnet18()
    model.load_state_dict(torch.load("a.pt", weights_only=True))
    model.train()
    with torch.no_grad():
        for x in torch.load("data.pt", weights_only=True):
            {use}  # ML101
    torch.save(model.state_dict(), "b.pt")

    def other():
        out = {elsewhere}
        return out
    """


EPOCHS = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Sequential(nn.Linear(4, 4), {layer})

        def forward(self, x):
            return self.fc(x)

    def main(loader, held_out, optimizer, loss_function):
        net = Net()
        for epoch in range(9):
            for x, y in loader:
                loss_function(net(x), y).backward()  # ML103:{severity}
                optimizer.step()
                optimizer.zero_grad()
            net.eval()
            with torch.no_grad():
                for x, y in held_out:
                    print(loss_function(net(x), y).item())
    """


ZOO = """
    import torch
    from torchvision.models import resnet18

    def predict(kind, x):
        nets = {{}}
        nets["a"] = resnet18()
        nets["b"] = resnet18()
        nets["c"] = resnet18()
        nets["d"] = resnet18()
        nets["e"] = resnet18()
        nets["f"] = resnet18()
        nets["g"] = resnet18()
        nets["h"] = resnet18()
        nets["i"] = resnet18()
        nets["j"] = resnet18()
        net = nets[kind]
        net.load_state_dict(torch.load("a.pt", weights_only=True))
        net.{switch}()
        with torch.no_grad():
            print(net(x).argmax(-1).tolist())  # ML101
    """


def silent(text: str) -> str:
    """Return a program without its marks."""
    return re.sub(r"  # ML\d+$", "", text, flags=re.M)


RULES = ["ML101", "ML103", "ML104", "ML106", "ML108", "ML201", "ML202", "ML204"]
LISTS = """
    from torch import nn

    class Lists(nn.Module):
        def __init__(self):
            super().__init__()
            self.list = [nn.Linear(3, 4)]
            self.module_list = nn.ModuleList([nn.Conv2d(3, 3, 3)])

        def forward(self{body}
    """


@pytest.mark.parametrize(
    ("body", "codes"), [("):\n            pass", []), (", x):\n            return self.list[0](x)", ["ML106"])]
)
def test_a_notebook_shows_what_a_list_does(tmp_path: Path, body: str, codes: list[str]) -> None:
    paths = write(tmp_path, {"book.ipynb": notebook(LISTS.format(body=body))})
    assert [d.code for d in analyzer(tmp_path, paths, ["ML106"]).check(read_source(paths[0]))] == codes


SILENT: dict[str, str | dict[str, str]] = {
    "a helper that does one thing with a model that its callers have readied": silent(GENERATION),
    "a method that is called under no_grad by somebody whose model is unknown": {
        "net.py": silent(LABELS),
        "app.py": LABELLER,
    },
    "a method of the project's encoder, on an encoder out of sight": {
        "evaluator.py": silent(EVALUATOR),
        "encoder.py": ENCODER,
        **{f"use{n}.py": "from encoder import Encoder\nprint(Encoder().encode([]))\n" for n in range(14)},
    },
    "a context that switches networks out of sight": silent(
        ENGINES.format(context="eval_mode(*[runs[name] for name in runs])")
    ),
    "modules in a dict that a private part registers": silent(DESCRIPTORS.format(registry="nn.ModuleDict()")),
    "dropout that the input asks for": silent(UNCERTAIN.format(flag="use_dropout")),
    "a term of a loss that callers train on": RESIDUALS,
    "a number of another library": silent(EPOCH.format(method=".asscalar()")),
    "a draw against a predicted chance": silent(STOCHASTIC.format(chance="torch.sigmoid(self.rate(x))")),
    "an object of a file that forecasts by itself": silent(FORECAST.format(method="predict")),
    "an attack on the model as it stands": silent(ATTACK.format(name="SparseAttack")),
    "networks that normalise each sample by itself": MEDICAL.format(built="UNet(2, 1, 1, (8, 16))", severity=":info"),
    "the part that the forward runs is in evaluation mode": silent(PAINTER.format(forward="self.generator(x)")),
    "a part of which nothing is known, in a model on its way": silent(STYLE.format(encoder="Encoder(layers)")),
    "the latent of a variational encoder": silent(VARIATIONAL.format(name="reparameterize")),
    "keys that are sampled by definition": silent(SPARSE.format(name="index_sample")),
    "an argument that asks for evaluation": silent(BY_ARGUMENT.format(argument="training=False")),
    "statistics gathered in training mode": silent(INITIALISED.format(target="_", after="return model")),
    "a method that switches the model itself": {
        "app.py": silent(VOCODER),
        "waves.py": WAVES.format(switch="self.eval()"),
    },
    "a chance that an argument gives": silent(TEACHER.format(chance="ratio")),
    "code that is never reached": silent(UNREACHABLE.format(first="raise ValueError(x)")),
    "a pipeline from a hub": silent(HUB.format(repository="ultralytics/yolov5", method="cpu")),
    "modules without weights in a dict": {
        "app.py": silent(REFINERS.format(points="points")),
        "config.py": "class Configurable:\n    pass\n",
    },
    "a sum of the parts of one batch": silent(CLASSES.format(before="pass", inside="part = 0")),
    "statistics gathered with results that nobody reads": silent(AVERAGED.format(use="scores = model(x)")),
    "an input that another result is differentiated by": silent(SALIENCY.format(then="other(images).backward()")),
    "a method that switches autograd on itself": {
        "app.py": silent(MATCHING),
        "matcher.py": MATCHER.format(context="with torch.set_grad_enabled(True)"),
    },
    "a method of a module whose callers decide": silent(CAPTIONS.format(result="embedded.mean()")),
    "an augmentation": silent(DRAWN.format(name="TimeWarp", result="x + shift")),
    "a placeholder": silent(DRAWN.format(name="Net", result="shift")),
    "a sample of what was predicted": silent(TOKENS.format(logits="self.encoder(x)")),
    "a loss that was put into evaluation mode": silent(REDUCED.format(name="logit_loss")),
    "modes put back from where they were kept": silent(
        RUNNER.format(
            kept="trainings = [self.model.training]", restored="if trainings[0]:\n                self.model.train()"
        )
    ),
    "a check at the bottom of the file that defines the module": silent(TRIED.format(load="pass")),
    "a step of Lightning around a model of transformers": CLASSIFIER,
    "a branch for what is no module": silent(EITHER.format(asked="nn.Module", call=TRAINED)),
    "negative examples beside the positive ones": silent(INFOMAX.format(name="shuf_features")),
    "a metric added up": silent(MEASURED.format(name="f1", added="measure(scores, y)")),
    "a test of unittest": silent(COMPARED.format(base="unittest.TestCase")),
    "a model of another library": silent(PADDLE.format(library="paddle")),
    "a model that is kept in a dict so that it is not registered": silent(POINTER.format(kept="model")),
    "a model that is adapted to a few examples": silent(FEW_SHOTS.format(name="fast_adapt")),
    "a script that gathers statistics": silent(SCRIPT.format(use="out = model(x)", elsewhere="0")),
    "one of ten models": silent(ZOO.format(switch="eval")),
    "a step that the base class runs under no_grad": {
        "solver.py": SOLVER.format(context="torch.no_grad()"),
        "app.py": silent(DIFFUSION),
    },
}
FOUND: dict[str, str | dict[str, str]] = {
    "a method that is called without no_grad as well": {
        "net.py": LABELS,
        "app.py": LABELLER,
        "other.py": "from files import load\nprint(load('a').label_sentences(['b']))\n",
    },
    "an encoder of the project that does not switch": {
        "evaluator.py": EVALUATOR,
        "encoder.py": ENCODER.replace("@torch.inference_mode()", "@torch.autocast('cpu')"),
    },
    "no context around networks out of sight": ENGINES.format(context="torch.no_grad()"),
    "modules in a dict that a private part only keeps": DESCRIPTORS.format(registry="{{}}"),
    "dropout under a condition on the data": UNCERTAIN.format(flag="lengths"),
    "losses of the steps added up": EPOCH.format(method=""),
    "a draw against a fixed chance": STOCHASTIC.format(chance="0.5"),
    "an object of a file that is run itself": FORECAST.format(method="forward"),
    "no attack": ATTACK.format(name="SparseSearch"),
    "a network with batch norm": MEDICAL.format(built="UNet(2, 1, 1, (8, 16), norm=Norm.BATCH)", severity=""),
    "the forward runs a part in training mode as well": PAINTER.format(forward="self.critic(self.generator(x))"),
    "a part with dropout, in a model on its way": STYLE.format(encoder="nn.Sequential(nn.Dropout(0.1))"),
    "noise on an encoding": VARIATIONAL.format(name="smear"),
    "keys at random": SPARSE.format(name="where"),
    "an argument that asks for something else": BY_ARGUMENT.format(argument="training=True"),
    "predictions in training mode": INITIALISED.format(target="y", after="print(y.argmax(-1).tolist())"),
    "a method that switches nothing": {
        "app.py": VOCODER,
        "waves.py": WAVES.format(switch="self.flatten_parameters()"),
    },
    "a chance that is fixed": TEACHER.format(chance="0.5"),
    "code that is reached": UNREACHABLE.format(first="x = x.flatten()"),
    "a network from a hub": HUB.format(repository="pytorch/vision", method="eval"),
    "a sum over all batches": CLASSES.format(before="part = 0", inside="pass"),
    "results that are read": AVERAGED.format(use="print(model(x).argmax(-1).tolist())"),
    "an input that nothing is differentiated by": SALIENCY.format(then="return images"),
    "a method that does not switch autograd": {
        "app.py": MATCHING,
        "matcher.py": MATCHER.format(context="with torch.autocast('cpu')"),
    },
    "a method of a module that gives predictions": CAPTIONS.format(result="embedded.argmax(-1).tolist()"),
    "a draw that is no augmentation": DRAWN.format(name="Encoder", result="x + shift"),
    "a sample of parameters": TOKENS.format(logits="self.logits"),
    "a model that was put into evaluation mode": REDUCED.format(name="scorer"),
    "modes that are not put back": RUNNER.format(kept="pass", restored="print(loader)"),
    "a model with weights at the bottom of a file": TRIED.format(
        load='net.load_state_dict(torch.load("a.pt", weights_only=True))'
    ),
    "a branch for other modules": EITHER.format(asked="nn.Linear", call=TRAINED),
    "a part of the input": INFOMAX.format(name="features"),
    "the loss added up": MEASURED.format(name="cost", added="loss"),
    "a class that is no test": COMPARED.format(base="object"),
    "a model that learned at the bottom of a file": LEARNED,
    "a model of the project beside another library": PADDLE.format(library="torch, paddle"),
    "a model that is built in a dict": POINTER.format(kept="nn.Linear(4, 4)"),
    "a script that prints predictions": SCRIPT.format(use="print(model(x).argmax(-1).tolist())", elsewhere="0"),
    "a mode that leaks into a model with dropout": EPOCHS.format(layer="nn.Dropout(0.1)", severity="warning"),
    "a mode that leaks into a model without any": EPOCHS.format(layer="nn.ReLU()", severity="info"),
    "one of ten models in training mode": ZOO.format(switch="train"),
    "a step that the base class runs under a context of its own": {
        "solver.py": SOLVER.format(context="self.swap_best_state()"),
        "app.py": DIFFUSION,
    },
    "modules with weights in a dict": REFINERS.format(points="nn.Linear(points, points)"),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)


POSSIBLE = {
    "a loss that is no model": silent(CRITERION.format(name="criterion_G")),
    "a function that evaluates the model itself": """
        import torch

        def evaluate(model, loader):
            right = 0
            with torch.no_grad():
                for x, y in loader:
                    right += (model(x).argmax(-1) == y).sum().item()  # ML101
            return right / len(loader)
        """,
    "a model that is called like one": CRITERION.format(name="model"),
    "nobody calls it": SCORES.format(use="print(table)"),
}


@pytest.mark.parametrize("name", POSSIBLE)
def test_a_model_of_which_nothing_tells_is_possible(lint: Lint, name: str) -> None:
    found = lint(POSSIBLE[name], rules=RULES, possible=True)
    assert {d.confidence for d in found} <= {Confidence.POSSIBLE}
