"""Wrong alarms of one draw of many repositories: who readies a model, what is none, and where a class stands."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

RULES = ("ML101", "ML103", "ML201", "ML204")
PART = """
        import torch
        from torch import nn
        from network import Net

        class Judge(nn.Module):
            def __init__(self, path="net.pt"):
                super().__init__()
                self.net = Net()
                self.net.load_state_dict(torch.load(path, weights_only=True))
                {READY}

            def forward(self, x):
                return self.net(x)

        class Whole(nn.Module):
            def __init__(self):
                super().__init__()
                self.judge = Judge()

            def forward(self, x):
                return self.judge(x)

        def main(images):
            measure = {MADE}
            with torch.no_grad():
                for x in images:
                    print(measure(x).argmax(1).item()){MARK}
"""
ENSEMBLE = """
        import torch
        from itertools import chain
        from fairseq import checkpoint_utils

        def main(path, cfg, batches):
            models, args = checkpoint_utils.load_model_ensemble([path])
            for model in {ALL}:
                {READY}
            net = models[0]
            with torch.no_grad():
                for x in batches:
                    print(net(x).argmax(1).tolist()){MARK}
"""
SEARCH = """
        import torch
        from torchaudio.models import RNNTBeamSearch
        from network import Net

        def main(batches):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            {READY}
            decoder = RNNTBeamSearch(net, 0)
            with torch.no_grad():
                for x in batches:
                    print(decoder(x, 5)[0].argmax(1).tolist())
"""
TRAINER = """
        import torch
        from builder import build

        class Trainer:
            def __init__(self, cfg, loader, valid):
                self.model = build(cfg)
                self.loader, self.valid = loader, valid
                self.criterion = {{"gan": build(cfg), "pixel": torch.nn.L1Loss()}}
                self.optimizer = torch.optim.Adam(self.model.parameters())

            def run(self):
                self.model.train()
                for epoch in range(9):
                    self.train_epoch()
                    self.valid_epoch()

            def train_epoch(self):
                {TRAIN}
                for x, y in self.loader:
                    self.optimizer.zero_grad()
                    loss = torch.nn.functional.cross_entropy(self.model(x), y){MARK}
                    loss.backward()
                    self.optimizer.step()

            @torch.no_grad()
            def valid_epoch(self):
                if isinstance(self.model, dict):
                    for name in self.model:
                        self.model[name].eval()
                else:
                    self.model.eval()
                for x, y in self.valid:
                    print(self.model(x).argmax(1).tolist(), self.criterion["gan"](x).item())
"""
BOTH = """                if isinstance(self.model, dict):
                    for name in self.model:
                        self.model[name].train()
                else:
                    self.model.train()
"""
COUNTS = """
        import torch
        from torch import nn
        from texts import compare

        def distance(labels, found):
            return sum(compare(a, b) for a, b in zip(labels, found))

        def fit(model, loader, optimizer):
            model.train()
            wrong = 0
            for x, y in loader:
                optimizer.zero_grad()
                scores = model(x)
                nn.functional.cross_entropy(scores, y).backward()
                optimizer.step()
                wrong += distance(y, scores.max(1){PLACE}){MARK}
            print(wrong)
"""
MODE = """
        import torch
        from network import Net

        class Runner:
            def __init__(self, loader, net):
                self.net, self.loader = net, loader

            def validate(self, net=None, use_train_mode=False):
                if net is None:
                    net = self.net
                if use_train_mode:
                    net.train()
                else:
                    net.eval()
                right = 0
                with torch.no_grad():
                    for x, y in self.loader:
                        right += (net(x).argmax(1) == y).sum().item()
                return right

        class Search:
            def __init__(self, loader, net):
                self.runner, self.net, self.loader = Runner(loader, net), net, loader
                self.optimizer = torch.optim.SGD(net.parameters(), 0.1)

            def warm_up(self):
                for epoch in range(9):
                    self.net.train()
                    for x, y in self.loader:
                        self.optimizer.zero_grad()
                        torch.nn.functional.cross_entropy(self.net(x), y).backward()
                        self.optimizer.step()
                    print(self.validate())

            def validate(self):
                return self.runner.validate({FLAG}){MARK}

        def main(loader):
            Search(loader, Net()).warm_up()
"""


def part(ready: str = "self.net.eval()", made: str = "Judge()", mark: str = "") -> dict[str, str]:
    text = PART.replace("{READY}", ready or '"""Loaded."""').replace("{MADE}", made).replace("{MARK}", mark)
    return {"network.py": NET, "measure.py": text}


def ensemble(ready: str = "model.prepare_for_inference_(cfg)", loop: str = "models", mark: str = "") -> str:
    return ENSEMBLE.replace("{READY}", ready).replace("{ALL}", loop).replace("{MARK}", mark)


def search(ready: str = "net.eval()") -> dict[str, str]:
    return {"network.py": NET, "search.py": SEARCH.replace("{READY}", ready)}


def trainer(train: str = BOTH, mark: str = "") -> str:
    return (
        TRAINER.replace("                {TRAIN}\n", train)
        .replace("{MARK}", mark)
        .replace("{{", "{")
        .replace("}}", "}")
    )


def counts(place: str, mark: str = "") -> str:
    return COUNTS.replace("{PLACE}", place).replace("{MARK}", mark)


def mode(flag: str = "use_train_mode=True") -> dict[str, str]:
    return {"network.py": NET, "search.py": MODE.replace("{FLAG}", flag).replace("{MARK}", "")}


SILENT: dict[str, str | Mapping[str, str]] = {
    "a constructor readies its part": part(),
    "a constructor readies its part, within a whole": part(made="Whole()"),
    "a part readies itself where it loads": part(
        ready='if path.endswith(".pt"):\n                    self.eval()', made="Whole()"
    ),
    "an ensemble is prepared": ensemble(),
    "an ensemble is prepared, in a chain": ensemble(loop="chain(models)"),
    "a search around a network that is ready": search(),
    "a model may be a dict of models, in training and out of it": trainer(),
    "where the largest number stands": counts("[1]"),
    "training mode is asked for by its name": mode(),
}
FOUND: dict[str, str | Mapping[str, str]] = {
    "a constructor that loads alone": part(ready="", mark="  # ML101:error"),
    "a part of a whole, never readied": part(ready="", made="Whole()", mark="  # ML101:error"),
    "an ensemble as it is loaded": ensemble(ready="model.half()", mark="  # ML101"),
    "nothing puts a model back": trainer(train='                print("training")\n', mark="  # ML103"),
    "the largest number": counts("[0]", mark="  # ML204"),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
