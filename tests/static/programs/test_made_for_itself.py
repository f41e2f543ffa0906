"""A method of a module that makes a model for its own use: that is no part of the module."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PROGRAM = """
        import torch
        from torch import nn
        from data import loader

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(3, 3), nn.Dropout())

            def forward(self, x):
                return self.body(x)

            def embed(self, x):
                return self.body(x)

        class Normal(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(3))
                {KEEP}self.measure()

            def measure(self):
                net = Net().to("cuda")
                net.load_state_dict(torch.load("net.pt", weights_only=True))
                {READY}
                for x in loader:
                    self.mean += net(x).detach().mean(0)
                    self.mean += net.embed(x).detach().mean(0)
                {LAST}

            def forward(self, x):
                return {RUN}x - self.mean

        normal = Normal()
        normal.load_state_dict(torch.load("normal.pt", weights_only=True))
        with torch.no_grad():
            for x in loader:
                print(normal(x).argmax(1).tolist()){MARK}
"""


@pytest.mark.parametrize(
    ("ready", "keep", "last", "run", "mark"),
    [
        ("net.eval()", "", "print(self.mean)", "", "  # ML101:info"),
        ("net = net.eval()", "", "print(self.mean)", "", "  # ML101:info"),
        ("net.eval()", "", "self.mean -= net(x).mean(0)", "", "  # ML101:info"),
        ("net.eval()", "", "self.net = net.train()", "self.net(x) + ", "  # ML101"),
        ("net.eval()", "", "net.train()\n                self.net = net", "self.net(x) + ", "  # ML101"),
        ("net.eval()", "", "self.add_module('net', net.train())", "self.net(x) + ", "  # ML101"),
        ("net.eval()", "", "setattr(self, 'net', net.train())", "self.net(x) + ", "  # ML101"),
        ("net.eval()", "self.net = ", "return net.train()", "self.net(x) + ", "  # ML101"),
    ],
)
def test_what_a_method_makes_for_itself(lint: Lint, ready: str, keep: str, last: str, run: str, mark: str) -> None:
    lint(PROGRAM.format(READY=ready, KEEP=keep, LAST=last, RUN=run, MARK=mark), rules=["ML101"])
