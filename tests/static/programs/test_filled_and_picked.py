"""What a module is filled with after it was made, or picks by a name; and calls that others are to blame for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

RULES = ("ML101", "ML104", "ML201", "ML204")
FILLED = """
        import torch
        from torch import nn

        def load(path, parts=()):
            net = nn.Sequential()
            net.add_module("first", nn.Linear(4, 4))
            {FILL}
            net.load_state_dict(torch.load(path, weights_only=True))
            return net

        net = load("net.pt")
        with torch.no_grad():
            print(net(torch.zeros(1, 4)).argmax(1).item()){MARK}
"""
LAYERS = """
        from torch import nn

        class Plain(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.linear = nn.Linear(size, size)

            def forward(self, x):
                return self.linear(x)

        class Dropping(nn.Module):
            def __init__(self, size):
                super().__init__()
                {SECOND}

            def forward(self, x):
                return self.second(x)
"""
TABLE = """
        import inspect
        import layers
        from torch import nn

        def table():
            found = {}
            for name, item in inspect.getmembers(layers, inspect.isclass):
                found[name] = item
            return found
"""
PICKED = """
        import torch
        import layers
        from table import table
        from torch import nn

        class Net(nn.Module):
            def __init__(self, names):
                super().__init__()
                self.table = {TABLE}
                self.layers = nn.ModuleList()
                for name in names:
                    self.layers.append(self.build(name))

            def build(self, name):
                {BUILD}

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        net = Net(["Plain", "Dropping"])
        net.load_state_dict(torch.load("net.pt", weights_only=True))
        {READY}
        with torch.no_grad():
            print(net(torch.zeros(1, 4)).argmax(1).item()){MARK}
"""
STAND_IN = """
        from . import has_torch
        if has_torch:
            from .network import Net
        else:
            class Net:
                def __init__(self, *args):
                    raise ImportError("torch")
"""
USES_IT = """
        import torch
        from nets.choice import Net

        net = Net()
        net.load_state_dict(torch.load("net.pt", weights_only=True))
        with torch.no_grad():
            print(net(torch.zeros(1, 8)).argmax(1).item()){MARK}
"""
RANKER = """
        import torch
        from torch import nn
        from network import Net

        class Ranker(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = Net()

            def score(self, x):
                return self.model(x)

            def forward(self, x, target):
                scores = self.score(x)
                return nn.functional.cross_entropy(scores, target), scores

        ranker = Ranker()
        ranker.load_state_dict(torch.load("ranker.pt", weights_only=True))
        ranker.{PART}eval()
        with torch.no_grad():
            print(ranker(torch.zeros(1, 8), torch.zeros(1))[1].argmax(1).item()){MARK}
"""
FACTORY = """
        import importlib

        def find(name):
            return getattr(importlib.import_module(f"models.{name}"), "Model")

        def create(opt, rank):
            model = find(opt.name)
            instance = model({GIVEN})
            print("made", type(instance).__name__)
            return instance
"""
MEASURE = """
        import argparse
        import torch
        from factory import create

        def launch_testing(opt):
            net = create(opt, 0){MARK}
            net.setup(opt)
            net.eval()
            with torch.no_grad():
                net.measure(opt)
            print(net.get_metrics().detach().cpu().numpy())

        if __name__ == "__main__":
            launch_testing(argparse.ArgumentParser().parse_args())
"""
HOLDER = """
        def get_predictions(ranker, loader):
            ranker.{PART}eval()
            found = []
            for x in loader:
                found.append(ranker.{METHOD}(x).argmax(1).tolist()){MARK}
            return found
"""
LOOPS = """
        def fit(model, loader, valid, optimizer, loss_fn):
            for x, y in loader:
                model.train()
                loss_fn(model(x), y).backward()
                optimizer.step()
            return evaluate(model, valid)

        def evaluate(model, valid):
            model.eval()
            hits = 0
            for x, y in valid:
                hits += (model(x).argmax(1) == y).sum().item()
            return hits
"""
CALLS = """
        import torch
        from loops import {NAME}
        from network import Net

        def main(loader, valid, loss_fn):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            optimizer = torch.optim.Adam(net.parameters())
            print({CALL}){MARK}
"""
PARTS = """
        import math
        import torch
        from torch import nn
        from torchvision import models

        class Positive(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(size, size))
                bound = math.sqrt(nn.init._calculate_fan_in_and_fan_out(self.weight)[0])
                nn.init.uniform_(self.weight, -bound, bound)

            def forward(self, x):
                return x @ self.weight.exp()

        class Grid(nn.Module):
            def __init__(self, path):
                super().__init__()
                state = torch.load(path)
                self.register_buffer("mask", {STATE})

            def forward(self, x):
                return self.mask[x.long()]

        class Net(nn.Module):
            def __init__(self, path="grid.pt"):
                super().__init__()
                {PART}

            def forward(self, x):
                return self.part(x)

        net = Net()
        net.load_state_dict(torch.load("net.pt", weights_only=True))
        with torch.no_grad():
            print(net(torch.zeros(1, 3, 8, 8)).argmax(1).item()){MARK}
"""
TRIED = """
        import torch
        from network import Net
        from torch.autograd import Variable

        net = Net()
        optimizer = torch.optim.Adam(net.parameters())
        for x, y in load():
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        {SAMPLE}
        scores = net({GIVEN}){MARK}
        print(scores.argmax(1).item())
"""


def filled(fill: str, mark: str = "") -> str:
    return FILLED.replace("{FILL}", fill).replace("{MARK}", mark)


def picked(
    build: str,
    table: str = "table()",
    ready: str = "",
    mark: str = "",
    second: str = "self.second = nn.Sequential(nn.Linear(size, size), nn.Dropout())",
) -> dict[str, str]:
    names = {"{TABLE}": table, "{BUILD}": build, "{READY}": ready, "{MARK}": mark}
    code = PICKED
    for name, text in names.items():
        code = code.replace(name, text)
    return {"net.py": code, "table.py": TABLE, "layers.py": LAYERS.replace("{SECOND}", second)}


def stand_in(choice: str = STAND_IN, mark: str = "") -> dict[str, str]:
    package = {"nets/__init__.py": "has_torch = True\n", "nets/choice.py": choice, "nets/network.py": NET}
    return package | {"main.py": USES_IT.replace("{MARK}", mark)}


def ranker(part: str = "model.", mark: str = "") -> dict[str, str]:
    return {"rank.py": RANKER.replace("{PART}", part).replace("{MARK}", mark), "network.py": NET}


def holder(part: str = "model.", method: str = "score_batch", mark: str = "") -> str:
    return HOLDER.replace("{PART}", part).replace("{METHOD}", method).replace("{MARK}", mark)


def calls(name: str, call: str, mark: str = "") -> dict[str, str]:
    main = CALLS.replace("{NAME}", name).replace("{CALL}", call).replace("{MARK}", mark)
    return {"main.py": main, "loops.py": LOOPS, "network.py": NET}


def parts(part: str, state: str = 'state["mask"]', mark: str = "  # ML101:info") -> str:
    return PARTS.replace("{PART}", part).replace("{STATE}", state).replace("{MARK}", mark)


def tried(given: str, sample: str, mark: str = "") -> dict[str, str]:
    code = TRIED.replace("{GIVEN}", given).replace("{SAMPLE}", sample).replace("{MARK}", mark)
    return {"notebook.py": code, "network.py": NET}


_PLAIN = "self.second = nn.Linear(size, size)"
_BY_TABLE, _BY_MODULE = "return self.table[name](4)", "make = getattr(layers, name)\n                return make(4)"

SILENT: dict[str, str | Mapping[str, str]] = {
    "filled with what nobody knows": filled("for part in parts:\n                net.append(part)"),
    "filled, and ready": filled('net.add_module("drop", nn.Dropout())\n            net.eval()'),
    "layers of a table of which none has a mode": picked(_BY_TABLE, second=_PLAIN),
    "layers of a module of which none has a mode": picked(_BY_MODULE, second=_PLAIN),
    "layers of a table that is written out, without a mode": picked(
        _BY_TABLE, table='{"Plain": layers.Plain, "Dropping": layers.Plain}'
    ),
    "layers that a name picks, and ready": picked(_BY_TABLE, ready="net.eval()"),
    "a stand-in where torch is missing, and nothing else": stand_in(
        STAND_IN.replace("from .network", "from elsewhere")
    ),
    "the only part that has a mode is ready": ranker(),
    "an object whose options were evaluated is asked": holder(part="options."),
    "an object that evaluates by itself": holder(method="evaluate"),
    "a sample made of what is no sample": tried("make(word)", 'word = "a cat"'),
}
FOUND: dict[str, str | Mapping[str, str]] = {
    "filled with layers that have no mode": filled('net.add_module("second", nn.Linear(4, 2))', "  # ML101:info"),
    "filled with layers that have no mode, one by one": filled("net.append(nn.Linear(4, 2))", "  # ML101:info"),
    "filled with dropout": filled('net.add_module("drop", nn.Dropout())', "  # ML101:error"),
    "filled with dropout, one by one": filled("net.append(nn.Dropout())", "  # ML101:error"),
    "a layer made as torch makes its own": parts("self.part = Positive(4)"),
    "entries of what is loaded": parts("self.part = Grid(path)"),
    "what is loaded, as a whole": parts("self.part = torch.load(path)", mark="  # ML101:error"),
    "features of a network that has dropout behind them": parts("self.part = models.vgg16(pretrained=True).features"),
    "features of a network that has dropout behind them, and a pool": parts(
        "net = models.vgg16(pretrained=True)\n"
        "                self.part = nn.Sequential(*list(net.features.children())[:9], net.avgpool)"
    ),
    "features of a network that has norms": parts(
        "self.part = models.vgg16_bn(pretrained=True).features", mark="  # ML101:error"
    ),
    "a network beside its features": parts(
        "net = models.vgg16(pretrained=True)\n                self.part, self.whole = net.features, nn.Sequential(net)",
        mark="  # ML101:error",
    ),
    "layers that a name picks from a table": picked(_BY_TABLE, mark="  # ML101:error"),
    "layers that a name picks from a module": picked(_BY_MODULE, mark="  # ML101:error"),
    "layers that a name picks from a table that is written out": picked(
        _BY_TABLE, table='{"Plain": layers.Plain, "Dropping": layers.Dropping}', mark="  # ML101:error"
    ),
    "the class itself beside its stand-in": stand_in(mark="  # ML101:error"),
    "a part is ready that is not all": ranker(part="model.fc.", mark="  # ML101:error"),
    "an object whose model is ready is asked": holder(mark="  # ML201"),
    "a batch of held-out data, wrapped": tried(
        "Variable(x).cuda()", "x, _ = next(iter(test_loader))", "  # ML101:error, ML201"
    ),
    "samples of a held-out set": tried("x", "x = draw(test_dset, 8)", "  # ML101:error, ML201"),
    "a sample that is tried out": tried("x", "x = make(test_sentence, words)", "  # ML101:error, ML201"),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)


def test_how_a_whole_in_another_file_evaluates_is_not_the_calls_business(lint: Lint) -> None:
    lint(calls("fit", "fit(net, loader, valid, optimizer, loss_fn)"), check=("main.py",), rules=RULES)
    lint(calls("evaluate", "evaluate(net, valid)", mark="  # ML201"), check=("main.py",), rules=RULES)


def test_what_is_given_the_options_of_a_program_is_built_of_them(lint: Lint) -> None:
    for given, mark in (("opt, rank", ""), ("rank, opt", "  # ML201")):
        files = {"factory.py": FACTORY.replace("{GIVEN}", given), "evaluate.py": MEASURE.replace("{MARK}", mark)}
        lint(files, check=("evaluate.py",), rules=RULES)
