"""Branches that a constant of a class decides, classes found by a name in a text, layers of graph libraries."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

RULES = ("ML101", "ML201")
KINDS = """
        class Base:
            @classmethod
            def names(cls):
                return [key for key in vars(cls) if key.isupper()]

        class Kind(Base):
            TRAIN = "train"
            EVAL = "eval"
            default = "train"
"""
TRAINER = """
        import torch
        from kinds import Kind
        from network import Net

        class Trainer:
            def train(self, loader, model, optimizer):
                model.train()
                return self.run(loader, model, optimizer, {TRAIN})

            def evaluate(self, loader, model, optimizer):
                model.eval()
                return self.run(loader, model, optimizer){MARK}

            {SWITCH}
            def run(self, loader, model, optimizer, kind={EVAL}):
                answers = []
                for x, y in loader:
                    logits = model(x)
                    if kind == {TRAIN}:
                        optimizer.zero_grad()
                        torch.nn.functional.cross_entropy(logits, y).backward()
                        optimizer.step()
                        continue
                    answers.extend(logits.softmax(1).cpu().tolist())
                return answers

        def main(loader, test_loader):
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            trainer = Trainer()
            for _ in range(3):
                trainer.train(loader, model, optimizer)
                print(trainer.evaluate(test_loader, model, optimizer))
"""
NAMED = """
        import torch
        from network import Net

        def predict(x, name="Net"):
            net = {FOUND}()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            {READY}
            with torch.no_grad():
                return net(x).argmax(1){MARK}
"""
GRAPH = """
        import torch
        import torch.nn.functional as F
        from torch_geometric.datasets import Planetoid
        from torch_geometric.nn import {LAYER}

        data = Planetoid(".", "Cora")[0]

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = {LAYER}(8, 2)

            def forward(self):
                return F.log_softmax(self.layer(data.x, data.edge_index), 1)

        model = Net()
        optimizer = torch.optim.Adam([p for p in model.parameters()], lr=0.1)

        def train():
            model.train()
            optimizer.zero_grad()
            F.nll_loss(model(), data.y).backward()
            optimizer.step()

        {SWITCH}
        def test():
            model.eval()
            logits, found = model(), []{MARK}
            for _, mask in data("val_mask", "test_mask"):
                found.append((logits[mask].max(1)[1] == data.y[mask]).sum().item())
            return found

        for epoch in range(100):
            train()
            print(test())
"""
OBJECT = """
        import numpy as np
        import torch
        from torch import nn
        from network import Plain

        class Vocoder:
            def __init__(self):
                self.network = Plain()
                self.optimizer = torch.optim.Adam(self.network.parameters())

            {SWITCH}
            def synthesize(self, frames):
                audio = []
                for frame in frames:
                    for sample in self.network(frame):{MARK}
                        audio.append(sample.item())
                return np.array(audio)

            def learn(self, frames, audio):
                loss = (self.network(frames) - audio).abs().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                return loss.item()
"""
PLAIN = """
        from torch import nn

        class Plain(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 2)

            def forward(self, x):
                return self.fc(x)
"""
CALLER = """
        import torch
        from vocoder import Vocoder

        def listen(vocoder: Vocoder, frames):
            return vocoder.synthesize(frames)
"""


ASKED = """
        import torch

        class Collection:
            def __init__(self, net, clips):
                self.net, self.clips = net, clips

            def collect(self):
                self.net.eval()
                found = []
                for clip in self.clips:
                    found.append(self.net.{METHOD}(clip)){MARK}
                return found
"""


def asked(method: str, mark: str = "") -> str:
    return ASKED.replace("{METHOD}", method).replace("{MARK}", mark)


def trainer(train: str = "Kind.TRAIN", evaluate: str = "Kind.EVAL", switch: str = "", mark: str = "") -> dict[str, str]:
    text = TRAINER.replace("{TRAIN}", train).replace("{EVAL}", evaluate)
    text = text.replace("{SWITCH}", switch or '"""Run both."""').replace("{MARK}", mark)
    return {"kinds.py": KINDS, "network.py": NET, "train.py": text}


def named(found: str, ready: str = "net.eval()", mark: str = "", network: str = NET) -> dict[str, str]:
    text = NAMED.replace("{FOUND}", found).replace("{READY}", ready or 'print("ready")').replace("{MARK}", mark)
    return {"network.py": network.replace("Plain", "Net"), "predict.py": text}


def graph(layer: str = "SAGEConv", switch: str = "", mark: str = "") -> str:
    text = GRAPH.replace("{LAYER}", layer).replace("{MARK}", mark)
    return text.replace("{SWITCH}\n", f"{switch}\n" if switch else "\n")


def vocoder(switch: str = "", mark: str = "") -> dict[str, str]:
    text = OBJECT.replace("{MARK}", mark).replace("{SWITCH}", switch or '"""Synthesize."""')
    return {"network.py": PLAIN, "vocoder.py": text, "listen.py": CALLER}


SILENT: dict[str, str | Mapping[str, str]] = {
    "a constant decides, and autograd is off": trainer(switch="@torch.no_grad()"),
    "what is no constant decides": trainer(train="Kind.default", evaluate="Kind.names()[0]"),
    "named by globals, and readied": named('globals()["Net"]'),
    "named by eval, and readied": named('eval("Net")'),
    "a method that may do anything": asked("transform"),
    "graph layers under no_grad": graph(switch="@torch.no_grad()"),
    "an object synthesizes under no_grad": vocoder(switch="@torch.no_grad()"),
}
FOUND: dict[str, str | Mapping[str, str]] = {
    "a constant of a class in another file decides": trainer(mark="  # ML201"),
    "texts decide": trainer(train='"train"', evaluate='"eval"', mark="  # ML201"),
    "named by globals": named('globals()["Net"]', ready="", mark="  # ML101:error"),
    "named by globals, by an argument's default": named("globals()[name]", ready="", mark="  # ML101:error"),
    "named by eval": named('eval("Net")', ready="", mark="  # ML101:error"),
    "named by globals, and without a mode": named('globals()["Net"]', ready="", mark="  # ML101:info", network=PLAIN),
    "named by eval, and without a mode": named('eval("Net")', ready="", mark="  # ML101:info", network=PLAIN),
    "a method named for inference": asked("infer_clip", "  # ML201"),
    "graph layers, whose forward takes nothing": graph(mark="  # ML201"),
    "an object synthesizes what another method of it trains": vocoder(mark="  # ML201"),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
