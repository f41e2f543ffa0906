"""Models that a name picks, evaluations whose numbers go elsewhere, switches in a method beside: correct code first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PICKED = """
import torch
from torch import nn
from torchvision import models
import blocks

class Net(nn.Module):
    def __init__(self, arch):
        super().__init__()
        {made}

    def forward(self, x):
        return self.body(x)

def main(arch, path, loader):
    net = Net(arch)
    net.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        for x, y in loader:
            print(net(x).argmax(1)){mark}
"""

BLOCKS = """
from torch import nn

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("made", "mark"),
    [
        ("self.body = nn.Sequential(nn.Linear(4, 4), getattr(nn, arch)())", "info"),
        ("self.body = getattr(blocks, arch)()", "info"),
        ("self.body = nn.Sequential(nn.Linear(4, 4), getattr(self, arch)())", "info"),
        ("self.body = getattr(models, arch)(weights=None)", "error"),
        ("self.body = vars(models)[arch](weights=None)", "error"),
        ("self.body = models.__dict__[arch](weights=None)", "error"),
        ("make = getattr(models, arch)\n        self.body = make(weights=None)", "error"),
    ],
)
def test_what_a_name_picks_out_of_a_module(lint: Lint, made: str, mark: str) -> None:
    lint({"app.py": PICKED.format(made=made, mark=f"  # ML101:{mark}"), "blocks.py": BLOCKS}, rules=["ML101"])


TABLE = """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), {layer})

    def forward(self, x):
        return self.layers(x)

def make_head(name):
    heads = {{"head": Head}}
    return heads[name]()

class Whole(nn.Module):
    def __init__(self, head):
        super().__init__()
        self.head = head

    def forward(self, x):
        return self.head(x)

net = Whole(make_head(input()))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(3):
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in val_loader:
            print((net(x).argmax(1) == y).sum()){mark}
"""


@pytest.mark.parametrize(("layer", "mark"), [("nn.ReLU()", ""), ("nn.Dropout(0.5)", "  # ML101")])
def test_a_table_within_a_function(lint: Lint, layer: str, mark: str) -> None:
    lint(TABLE.format(layer=layer, mark=mark), rules=["ML101"])


GIVEN = """
import torch
from torch import nn
import torchvision
from makers import make_encoder

def get_encoder(name):
    known = {{"small": torchvision.models.resnet18(), "large": torchvision.models.resnet50()}}
    return known[name]

class Contrast(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.encoder.fc = nn.Identity()

    def forward(self, x):
        return self.encoder(x)

def features(net, loader):
    for x, y in loader:
        with torch.no_grad():
            yield net(x).numpy(){mark}

if __name__ == "__main__":
    encoder = {encoder}
    net = Contrast(encoder)
    net.load_state_dict(torch.load("contrast.pt", weights_only=True))
    print(list(features(net, input())))
"""


@pytest.mark.parametrize(
    ("encoder", "mark"),
    [
        ("make_encoder(input())", ""),
        ("get_encoder(input())", "  # ML101"),
        (
            "torchvision.models.resnet18() if input() else torchvision.models.resnet18(norm_layer=nn.InstanceNorm2d)",
            "  # ML101",
        ),
    ],
)
def test_a_model_around_one_of_a_library(lint: Lint, encoder: str, mark: str) -> None:
    lint(GIVEN.format(encoder=encoder, mark=mark), rules=["ML101"])


SCORED = """
import torch
from torch import nn
from graphs import distance, load

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

    def forward(self, x):
        return self.layers(x)

class Trainer:
    def __init__(self, path):
        self.net = Net()
        self.training_graphs, self.testing_graphs = load(path)

    def fit(self):
        optimizer = torch.optim.Adam(self.net.parameters())
        self.net.train()
        for graph in self.training_graphs:
            optimizer.zero_grad()
            (self.net(graph) - graph).pow(2).mean().backward()
            optimizer.step()

    def score(self):
        {switch}
        scores = []
        for graph in self.{graphs}:
            scores.append(distance(self.net(graph), graph)){mark}
        print(sum(scores))

trainer = Trainer(input())
trainer.fit()
trainer.score()
"""


@pytest.mark.parametrize(
    ("switch", "graphs", "mark"),
    [("self.net.eval()", "testing_graphs", ""), ("print()", "testing_graphs", "  # ML101")],
)
def test_an_evaluation_whose_results_go_elsewhere(lint: Lint, switch: str, graphs: str, mark: str) -> None:
    lint(SCORED.format(switch=switch, graphs=graphs, mark=mark), rules=["ML101"])


HABIT = """
import torch
from torch import nn
from torch.autograd import Variable

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

    def forward(self, x):
        return self.layers(x)

class Controller:
    def __init__(self, sampler):
        self.net, self.sampler = Net(), sampler
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.criterion = nn.MSELoss()

    def run_batch(self, mode):
        x, y = self.sampler.sample(mode)
        loss = self.criterion(self.net(Variable(x, requires_grad=True)), y)
        if mode == "train":
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def run(self):
        for _ in range(10):
            {train}
            print(self.run_batch("train"))
            {switch}
            print(self.run_batch("validate")){mark}

Controller(input()).run()
"""


@pytest.mark.parametrize(
    ("train", "switch", "mark"),
    [("self.net.train()", "self.net.eval()", ""), ("pass", "pass", "  # ML101")],
)
def test_an_input_that_requires_a_gradient_by_habit(lint: Lint, train: str, switch: str, mark: str) -> None:
    lint(HABIT.format(train=train, switch=switch, mark=mark), rules=["ML101"])


GENERATOR = """
import torch
from torch import nn

class Generator(nn.Module):
    def __init__(self, width, dropout=0.3):
        super().__init__()
        self.start = nn.Linear(width, width)
        self.rnn = nn.GRU(width, width, num_layers=2, dropout=dropout)

    def forward(self, x):
        return self.rnn(x)[0]

    def begin(self, x):
        return self.start(x)

    def steps(self, x, steps):
        x = self.begin(x)
        for _ in range(steps):
            x = self.forward(x)
        return x

    def generate(self, x, steps):
        return self.steps(x, steps)
"""

GENERATES = """
import torch
from generator import Generator

net = Generator(**input())
net.load_state_dict(torch.load("generator.pt", weights_only=True)["model"])
{switch}
print(net.generate(torch.ones(1, 1, 4), 3).cpu().numpy()){mark}
"""


@pytest.mark.parametrize(("switch", "mark"), [("net.eval()", ""), ("pass", "  # ML101:error")])
def test_the_part_with_a_mode_is_told_and_no_other(lint: Lint, switch: str, mark: str) -> None:
    program = {"generator.py": GENERATOR, "app.py": GENERATES.format(switch=switch, mark=mark)}
    lint(program, check=["app.py"], rules=["ML101"])


ROLLOUT = """
import torch
from torch import nn

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), {layer})

    def forward(self, x):
        return self.layers(x)

@torch.no_grad()
def {name}(net, env):
    state, total = env.reset(), 0.0
    for _ in range(100):
        action = net(torch.as_tensor(state)).numpy(){mark}
        state, reward, done, _ = env.step(action)
        total += reward
    return total

def train(env, loader):
    net = Policy()
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        optimizer.step()
    print({name}(net, env))

train(input(), input())
"""


@pytest.mark.parametrize(
    ("name", "layer", "mark"),
    [
        ("collect", "nn.Dropout(0.1)", ""),
        ("eval_rollout", "nn.ReLU()", ""),
        ("eval_rollout", "nn.Dropout(0.1)", "  # ML101"),
    ],
)
def test_who_evaluates_an_agent_does_not_explore(lint: Lint, name: str, layer: str, mark: str) -> None:
    lint(ROLLOUT.format(name=name, layer=layer, mark=mark), rules=["ML101"])


BESIDE = """
import torch
from transformers import AutoModel

class Retriever:
    def __init__(self, name):
        self.model = AutoModel.from_pretrained(name){ready}

    def forward_queries(self, queries):
        found = []
        for query in queries:
            found.extend(torch.unbind(self.model.get_text_features(**query))){mark}
        return found

    def forward_passages(self, passages):
        found = []
        for passage in passages:
            {context}:
                found.append(self.model.get_image_features(**passage))
        return found
"""


@pytest.mark.parametrize(
    ("ready", "context", "mark"),
    [
        (".eval()", "if passage", ""),
        (".train()", "with torch.no_grad()", ""),
        (".eval()", "with torch.no_grad()", "  # ML201"),
    ],
)
def test_a_method_beside_one_that_switches_autograd_off(lint: Lint, ready: str, context: str, mark: str) -> None:
    lint(BESIDE.format(ready=ready, context=context, mark=mark), rules=["ML201"])


AESTHETICS = """
import torch
from torchvision.models import vgg16

def main(config, loader, test_loader):
    model = vgg16(weights="DEFAULT" if config.warm else None)
    if config.train:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            optimizer.step()
    if config.test:
        model.eval()
        means = []
        for x, y in {data}:
            mean = 0.0
            for number, part in enumerate(model(x).view(10, 1)):{mark}
                mean += number * part
            means.append(mean)

main(input(), input(), input())
"""


@pytest.mark.parametrize(("data", "mark"), [("loader", ""), ("test_loader", "  # ML201")])
def test_what_a_script_has_trained_and_evaluates(lint: Lint, data: str, mark: str) -> None:
    lint(AESTHETICS.format(data=data, mark=mark), rules=["ML201"])


COUNTED = """
import torch
from torch import nn

class Learner(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def forward(self, x):
        return self.net(x)

    def predict(self, x):
        self.net.eval()
        out = self.forward(x){mark}
        return {{name: value.detach() for name, value in out.items()}}

    def validation(self, loader):
        hits = 0
        for x, y in loader:
            hits += (self.predict(x)["all"].argmax(1) == y).sum().item()
        self.log(hits)
        return hits

    def learn(self, train_loader, val_loader):
        for x, y in train_loader:
            self.net.train()
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.forward(x)["all"], y).backward()
            self.optimizer.step()
        {validate}
"""


@pytest.mark.parametrize(
    ("validate", "mark"),
    [("with torch.no_grad(): self.validation(val_loader)", ""), ("self.validation(val_loader)", "  # ML201")],
)
def test_a_caller_drops_what_an_evaluation_has_counted(lint: Lint, validate: str, mark: str) -> None:
    lint(COUNTED.format(validate=validate, mark=mark), rules=["ML201"])


TESTED = """
import torch

class MainLoop:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader

    def do_validation(self):
        self.model.train(False)
        {context}:
            print(self.model.test_performance(self.loader)){mark}
"""


@pytest.mark.parametrize(("context", "mark"), [("with torch.no_grad()", ""), ("if self.loader", "  # ML201")])
def test_a_model_is_asked_to_test_itself(lint: Lint, context: str, mark: str) -> None:
    lint(TESTED.format(context=context, mark=mark), rules=["ML201"])


FROZEN = """
import torch
from torch import nn
from torchvision import models

class Encoder(nn.Module):
    def __init__(self, arch, size, tuned=False):
        super().__init__()
        self.cnn = self.get_cnn(arch)
        for parameter in self.cnn.parameters():
            parameter.requires_grad = tuned
        if arch.startswith("vgg"):
            self.fc = nn.Linear(self.cnn.classifier._modules["6"].in_features, size)
            self.cnn.classifier = nn.Sequential(*list(self.cnn.classifier.children())[:-1])
        else:
            self.fc = nn.Linear(self.cnn.module.fc.in_features, size)
            self.cnn.module.fc = nn.Sequential()

    def get_cnn(self, arch):
        model = models.__dict__[arch](weights="DEFAULT")
        if arch.startswith("vgg"):
            model.features = nn.DataParallel(model.features)
        else:
            model = nn.DataParallel(model)
        return model

    def forward(self, x):
        return self.fc(self.cnn(x))

def main(loader):
    net = Encoder(input(), 8)
    optimizer = torch.optim.Adam(net.fc.parameters())
    for epoch in range(3):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            (net(x) - y).pow(2).mean().backward()
            optimizer.step()
        {switch}
        with torch.no_grad():
            for x, y in val_loader:
                print(net(x).argmax(1)){mark}

main(input())
"""


@pytest.mark.parametrize(("switch", "mark"), [("net.eval()", ""), ("pass", "  # ML101")])
def test_a_network_that_holds_itself(lint: Lint, switch: str, mark: str) -> None:
    lint(FROZEN.format(switch=switch, mark=mark), rules=["ML101"])


EPOCHS = """
import torch

def train(loader, net, optimizer, dev_loader):
    net.train()
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        (net(x) - y).pow(2).mean().backward()  # ML103
        optimizer.step()
        if step % 100 == 0:
            evaluate(dev_loader, net)

def evaluate(loader, net):
    net.eval()
    with torch.no_grad():
        for x, y in loader:
            print(net(x).argmax(1))
"""

MAIN = """
import torch
import training
from torchvision.models import resnet18

net = resnet18()
training.train(input(), net, torch.optim.Adam(net.parameters()), input())
"""


def test_the_call_of_the_evaluation_is_named_whoever_trains(lint: Lint) -> None:
    [found] = lint({"training.py": EPOCHS, "main.py": MAIN}, check=["training.py"], rules=["ML103"])
    assert [place.position.row for place in found.related] == [14, 11]


SERVER = """
from torchvision.models import resnet18

class Model:
    def __init__(self):
        self.net = resnet18(weights="DEFAULT").eval()

    def predict(self, x):
        return self.net(x).argmax(1).tolist(){mark}
"""


@pytest.mark.parametrize(
    ("init", "mark"),
    [
        ("import torch\n\ntorch.set_grad_enabled(False)\n", ""),
        ("import torch\n\ntorch.set_grad_enabled(True)\n", "  # ML201"),
        ("import torch\n\nif torch.cuda.is_available():\n    torch.set_grad_enabled(False)\n", "  # ML201"),
        ("import torch\n\ndef serve():\n    torch.set_grad_enabled(False)\n", "  # ML201"),
        ("import torch\n", "  # ML201"),
    ],
)
def test_a_package_switches_autograd_off_as_it_is_imported(lint: Lint, init: str, mark: str) -> None:
    inside = {"serving/__init__.py": init, "serving/models/__init__.py": "", "serving/models/net.py": SERVER}
    program = {path: text.replace("{mark}", mark) for path, text in inside.items()}
    lint({**program, "other/net.py": SERVER.format(mark="  # ML201")}, rules=["ML201"])


CAST = """
import typing
import torch
from torch import nn
from typing import cast
from makers import make

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), {layer})

    def forward(self, x):
        return self.layers(x)

def predict(x):
    net = {made}
    net.load_state_dict(torch.load("a.pt", weights_only=True))
    with torch.no_grad():
        return net(x).argmax(-1){mark}
"""


@pytest.mark.parametrize(
    ("layer", "made", "mark"),
    [
        ("nn.ReLU()", "cast(Net, make())", "  # ML101:info"),
        ("nn.Dropout(0.5)", "cast(Net, Net().eval())", ""),
        ("nn.Dropout(0.5)", "typing.cast('Net', Net())", "  # ML101:error"),
        ("nn.Dropout(0.5)", "cast(Net, make())", "  # ML101:error"),
    ],
)
def test_a_cast_gives_back_what_it_is_given(lint: Lint, layer: str, made: str, mark: str) -> None:
    lint(CAST.format(layer=layer, made=made, mark=mark), rules=["ML101"])


OPENCV = """
import torch
{imports}

def predict(path, image):
    net = {made}
    return net.forward(image).argmax(1)
"""


@pytest.mark.parametrize(
    ("imports", "made"),
    [
        ("import cv2", "cv2.dnn.readNet(path)"),
        ("from sklearn.neural_network import MLPClassifier", "MLPClassifier().fit(path, image)"),
        ("import xgboost", "xgboost.XGBClassifier()"),
    ],
)
def test_what_is_no_network_of_torch(lint: Lint, imports: str, made: str) -> None:
    lint(OPENCV.format(imports=imports, made=made), rules=["ML101", "ML201"], possible=True)
