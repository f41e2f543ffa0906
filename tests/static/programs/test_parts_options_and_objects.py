"""What is frozen with the whole, options that a file fills, objects that helpers ask, parts that others call."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

FROZEN = """
        import torch
        from torch import nn

        class Coder(nn.Module):
            def __init__(self, path):
                super().__init__()
                self.encoder = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4))
                self.decoder = nn.Linear(4, 8)
                self.load_state_dict(torch.load(path, weights_only=True))
                self.eval()
                {FREEZE}

            def encode(self, x):
                return self.encoder(x){FIRST}

            def decode(self, z):
                return self.decoder(z){SECOND}

        def make(path):
            return Coder(path)

        def main(path, x):
            coder = make(path)
            again = [coder.decode(coder.encode(x)) for _ in range(4)]
            print(torch.cat(again).mean())

        if __name__ == "__main__":
            main("coder.pt", torch.load("x.pt", weights_only=True))
"""

ASKED = """
        import torch
        from torch import nn

        def main(net, rank, x):
            net.eval()
            net.requires_grad_(True){MARK}
            net = nn.parallel.DistributedDataParallel(net, device_ids=[rank])
            {FREEZE}
            print(net(x).argmax(1))
"""

MODELESS = """
        import torch
        {IMPORT}
        from torch import nn

        class Policy(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 2)
                self.last = {LAST}

            def forward(self, x):
                return self.last(self.layer(x))

        class Agent:
            def __init__(self, config):
                self.net = {MAKE}
                self.net.load_state_dict(torch.load(config.path, weights_only=True))
                self.train()

            def train(self, training=True):
                self.training = training
                self.net.train(training)

            def act(self, state):
                with torch.no_grad():
                    return self.net(state).argmax(1){MARK}

        def play(config, env):
            agent = Agent(config)
            print(env.step(agent.act(env.reset())))
"""

SCRIPTED = """
        import torch

        def measure(path, loader):
            arrays = []
            detector = torch.jit.load(path).eval()
            for images in loader:
                found = detector(images){MARK}
                arrays.append({ARRAY})
            return len(arrays)

        print(measure("detector.pt", torch.load("images.pt", weights_only=True)))
"""

ENERGY = """
        import torch
        from torch import nn

        class Surface(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 1)

            def forward(self, x):
                return self.layer(x)

            def gradient(self, x):
                x.requires_grad_(True)
                return {GRADIENT}

        class Renderer(nn.Module):
            def __init__(self):
                super().__init__()
                self.surface = Surface()

            def forward(self, x):
                return self.surface.{ASKED}(x)
"""
RENDERS = """
        import torch
        from library import find

        def evaluate(config, path, parts):
            net = find(config["class"])(config)
            net.load_state_dict(torch.load(path, weights_only=True))
            net.eval()
            out = []
            for part in parts:
                out.append(net(part).detach()){MARK}
            return torch.cat(out)
"""

HEAD = """
        from torch import nn

        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 2)

            def forward(self, x):
                return self.layer(x)

            def predict(self, x):
                return self.forward(x).detach().cpu().numpy(){MARK}
"""
DETECTOR = """
        from torch import nn
        from registry import build

        class Detector({BASE}):
            def __init__(self, head):
                super().__init__()
                self.head = build(head)

            def forward(self, x, train=True):
                return self.loss(x) if train else self.test(x)

            def test(self, x):
                return self.head.predict(x)
"""

CODED = """
        from {LIBRARY} import Translator

        translator = Translator.from_pretrained("large").eval()
        print({{title: translator.{METHOD}(title).tolist() for title in open("titles.txt")}}){MARK}
"""

KERAS = """
        import numpy as np
        {IMPORT}

        def mlp(n):
            return {MAKE}

        class Agent:
            def __init__(self, n):
                self.model = mlp(n)

            def act(self, state):
                return np.argmax(self.model.predict(state)[0]){MARK}

        print(Agent(4).act(np.zeros(4)))
"""

STARS = {
    "show.py": """
        import torch
        from nets import *

        def show(path, x):
            checkpoint = torch.load(path, weights_only=True)
            net = eval(checkpoint["net"])
            net.load_state_dict(checkpoint["state"])
            with torch.no_grad():
                print(net(x).argmax(1)){MARK}
    """,
    "nets.py": """
        from torch import nn

        class Base(nn.Module):
            def forward(self, x):
                return self.norm(x)

        class Quad(Base):
            def __init__(self):
                super().__init__()
                self.norm = nn.{NORM}
    """,
}

FILLED = """
        import torch
        import torchvision

        class Config:
            def __init__(self, given):
                self.test = False
                {FILL}

        config = Config(torch.load("options.pt", weights_only=True))
        net = torchvision.models.resnet50()
        net.load_state_dict(torch.load("a.pt", weights_only=True))
        if config.test:
            with torch.no_grad():
                print(net(torch.zeros(1, 3, 8, 8)).argmax(1)){MARK}
"""

SETTINGS = {
    "config.py": """
        from easydict import EasyDict

        {NAME} = EasyDict()
        {NAME}.PATH = ""
    """,
    "test.py": """
        import torch
        from config import {NAME} as given
        from nets import Net

        def evaluate(loader):
            if given.PATH == "":
                print("no path")
            else:
                net = Net()
                net.load_state_dict(torch.load(given.PATH, weights_only=True))
                {READY}
                with torch.no_grad():
                    for x in loader:
                        print(net(x).argmax(1)){MARK}
    """,
    "nets.py": NET,
}

PICKED = {
    "run.py": """
        import torch
        from nets import Net

        def make(name):
            if name == "net":
                Chosen = Net
            else:
                from elsewhere import Other as Chosen
            return Chosen()

        def main(name, path, x):
            net = make(name)
            net.load_state_dict(torch.load(path, weights_only=True))
            {READY}
            with torch.no_grad():
                print(net(x).argmax(1)){MARK}
    """,
    "nets.py": NET,
}

REMOTE = """
        import torch
        from transformers import AutoConfig, AutoModel

        def main(path, images):
            config = AutoConfig.from_pretrained(path, trust_remote_code=True)
            model = {MAKE}
            with torch.no_grad():
                print(model.{METHOD}(images).argmax(1)){MARK}
"""

CREW = """
        import torch
        from torch import nn

        class Agent:
            def __init__(self, n):
                self.net = nn.Sequential(nn.Linear(n, 8), nn.Dropout())
                self.net.load_state_dict(torch.load("a", weights_only=True))

            def prepare(self):
                {READY}

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(){MARK}

        class Crew:
            def __init__(self, sizes):
                self.agents = [Agent(n) for n in sizes]

            def prepare(self):
                for agent in self.agents:
                    agent.prepare()

        def prepare(agent):
            agent.prepare()

        def one():
            agent = Agent(3)
            prepare(agent)
            print(agent.predict(torch.zeros(1, 3)))

        def several():
            crew = Crew([3, 4])
            crew.prepare()
            for agent in crew.agents:
                print(agent.predict(torch.zeros(1, 3)))

        if __name__ == "__main__":
            one()
            several()
"""

NOISY = """
        import torch
        from torch import nn

        class Noisy(nn.Linear):
            def forward(self, x):
                if self.training:
                    x = x + torch.randn(1)
                return super().forward(x)

        class Net(nn.Module):
            def __init__(self, n, noisy={DEFAULT}):
                super().__init__()
                if {TEST}:
                    self.last = nn.Linear(n, n)
                else:
                    self.last = Noisy(n, n)

            def forward(self, x):
                return self.last(x)

        net = Net({GIVEN})
        net.load_state_dict(torch.load("a.pt", weights_only=True))
        with torch.no_grad():
            print(net(torch.zeros(1, 8)).argmax(1)){MARK}
"""

TRIED = """
        import torch

        def same(name, mine, reference, x):
            mine.eval()
            theirs = reference(x)
            got = mine(x){MARK}
            {CHECK}
"""

DECODES = {
    "codec.py": """
        import torch
        from torch import nn

        class Codec(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)

            {SWITCH}
            def decode(self, x):
                return self.layer(x)
    """,
    "tool.py": """
        import torch

        @torch.no_grad()
        def decode(path):
            return torch.load(path, weights_only=True)
    """,
    "infer.py": """
        import torch

        codec = torch.load("codec.pt", weights_only=False).eval()
        for part in torch.load("parts.pt", weights_only=True):
            print(codec.decode(part).cpu().detach()){MARK}
    """,
}


def frozen(freeze: str = "self.requires_grad_(False)", first: str = "", second: str = "") -> str:
    return FROZEN.format(FREEZE=freeze, FIRST=first, SECOND=second)


def modeless(
    make: str = "hydra.utils.instantiate(config.net)",
    last: str = "nn.Identity()",
    imported: str = "import hydra",
    mark: str = "",
) -> str:
    return MODELESS.format(MAKE=make, LAST=last, IMPORT=imported, MARK=mark)


def energy(
    gradient: str = "torch.autograd.grad(self(x).sum(), x)[0]", asked: str = "gradient", mark: str = ""
) -> dict[str, str]:
    files = {"nets.py": ENERGY.format(GRADIENT=gradient, ASKED=asked)}
    return files | {"evaluate.py": RENDERS.format(MARK=mark)}


def component(base: str = "nn.Module", mark: str = "") -> dict[str, str]:
    return {"head.py": HEAD.format(MARK=mark), "detector.py": DETECTOR.format(BASE=base)}


def stars(norm: str = "LayerNorm(8)", mark: str = "") -> dict[str, str]:
    return {name: text.format(NORM=norm, MARK=mark) for name, text in STARS.items()}


def settings(name: str = "cfg", ready: str = "net.eval()", mark: str = "") -> dict[str, str]:
    return {file: text.format(NAME=name, READY=ready, MARK=mark) for file, text in SETTINGS.items()}


def picked(ready: str = "net.eval()", mark: str = "") -> dict[str, str]:
    return {file: text.format(READY=ready, MARK=mark) for file, text in PICKED.items()}


def remote(make: str, method: str = "extract_feature", mark: str = "") -> str:
    return REMOTE.format(MAKE=make, METHOD=method, MARK=mark)


def noisy(test: str = "noisy == 0", default: str = "0", given: str = "8", mark: str = "  # ML101:info") -> str:
    return NOISY.format(TEST=test, DEFAULT=default, GIVEN=given, MARK=mark)


def decodes(switch: str = "", mark: str = "") -> dict[str, str]:
    return {file: text.format(SWITCH=switch, MARK=mark) for file, text in DECODES.items()}


FROM_CONFIG = "AutoModel.from_config(config, trust_remote_code=True)"
SILENT: dict[str, str | Mapping[str, str]] = {
    "parts of a model that froze itself": frozen(),
    "parts of a model whose parameters were frozen": frozen("[p.requires_grad_(False) for p in self.parameters()]"),
    "gradients for a wrapper, which are switched off again": ASKED.format(FREEZE="net.requires_grad_(False)", MARK=""),
    "a project in which nothing has a mode": modeless(),
    "a script whose numbers go into an array as they are": SCRIPTED.format(ARRAY="found.cpu().numpy()", MARK=""),
    "a model of a project whose parts differentiate": energy(),
    "a head that another module's forward asks": component(),
    "text that an interface of a library turns into numbers": CODED.format(
        LIBRARY="polyglot", METHOD="encode", MARK=""
    ),
    "a network of Keras": KERAS.format(IMPORT="from keras.models import Model", MAKE="Model(n)", MARK=""),
    "networks without a mode, imported by a star": stars(),
    "what an option decides, in evaluation mode": settings(),
    "a constant of no options": settings(name="table", ready="print(given)"),
    "a class that branches pick, ready": picked(),
    "code of others in evaluation mode": remote("AutoModel.from_pretrained(path, trust_remote_code=True)"),
    "code of others, which goes the whole way": remote(FROM_CONFIG, method="chat"),
    "objects and lists of them that helpers make ready": CREW.format(READY="self.net.eval()", MARK=""),
    "noise that nobody asks for": noisy(),
    "noise that is None": noisy(test="noisy is None", default="None"),
    "noise that is put off": noisy(default="1", given="8, 0"),
    "what a helper of tests compares": TRIED.format(CHECK='allclose(theirs, got.detach(), "output")', MARK=""),
    "a method that switches autograd off": decodes(switch="@torch.no_grad()"),
}
FOUND: dict[str, str | Mapping[str, str]] = {
    "parts of a model that did not": frozen("self.ready = True", first="  # ML201", second="  # ML201"),
    "parts that are thawed again": frozen(
        "self.requires_grad_(False).requires_grad_(True)", first="  # ML201", second="  # ML201"
    ),
    "gradients for a wrapper, which stay on": ASKED.format(FREEZE="print(rank)", MARK="  # ML202"),
    "a project with dropout": modeless(last="nn.Dropout()", mark="  # ML101"),
    "a network of a library": modeless("zoo.make(config)", imported="import zoo", mark="  # ML101"),
    "a script whose numbers are cut off": SCRIPTED.format(ARRAY="found.detach().cpu().numpy()", MARK="  # ML201"),
    "a model of a project that does not differentiate": energy("x", mark="  # ML201"),
    "a model whose forward does not ask for gradients": energy(asked="forward", mark="  # ML201"),
    "a head that a method of no module asks": component(base="object", mark="  # ML201"),
    "features that a model computes": CODED.format(LIBRARY="polyglot", METHOD="extract_features", MARK="  # ML201"),
    "a network of nobody's": KERAS.format(IMPORT="from zoo import build", MAKE="build(n)", MARK="  # ML201"),
    "networks with a mode, imported by a star": stars(norm="BatchNorm1d(8)", mark="  # ML101"),
    "an option that a loop may fill": FILLED.format(
        FILL="[setattr(self, key, value) for key, value in given.items()]", MARK="  # ML101"
    ),
    "an option that a dict may fill": FILLED.format(FILL="self.__dict__.update(given)", MARK="  # ML101"),
    "what an option decides, in training mode": settings(ready="print(net)", mark="  # ML101"),
    "a class that branches pick, not ready": picked(ready="print(net)", mark="  # ML101"),
    "code of others in training mode": remote(FROM_CONFIG, mark="  # ML101"),
    "objects and lists of them that nobody makes ready": CREW.format(READY="print(self.net)", MARK="  # ML101"),
    "noise by default": noisy(default="1", mark="  # ML101:error"),
    "noise that is asked for": noisy(given="8, 2", mark="  # ML101:error"),
    "what a helper prints": TRIED.format(CHECK="print(theirs, got.detach())", MARK="  # ML201"),
    "a method beside a function of its name": decodes(mark="  # ML201"),
}
RULES = ["ML101", "ML201", "ML202"]


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
