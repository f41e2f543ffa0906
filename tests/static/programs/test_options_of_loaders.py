"""Loaders whose options are a dictionary: what is written in it, and what is changed in it before it is handed on."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PROGRAM = """
        import torch
        from torch.utils.data import DataLoader

        from net import Net

        def main(train_set, test_set, more, cuda):
            options = {"batch_size": 64, "shuffle": True}
            fit(train_set, options)
            {CHANGE}
            score(test_set, options)

        def fit(train_set, options):
            net = Net()
            net.fit(DataLoader(train_set, **options))

        def score(test_set, options):
            net = Net()
            batches = DataLoader(test_set, **options){MARK}
            with torch.no_grad():
                print(net.predict(generator=batches))
"""
NET = """
        from base import Base

        class Net(Base):
            def forward(self, x):
                return self.head(x)
"""
BASE = """
        import torch
        from torch import nn

        class Base(nn.Module):
            def fit(self, generator):
                for x, y in generator:
                    nn.functional.mse_loss(self(x), y).backward()
                    self.optimizer.step()

            def predict(self, generator):
                self.eval()
                found = []
                for x, _ in generator:
                    found.append(self(x))
                return torch.cat(found)
"""


def files(change: str, mark: str = "") -> dict[str, str]:
    program = PROGRAM.replace("{CHANGE}", change).replace("{MARK}", mark)
    return {"main.py": program, "net.py": NET, "base.py": BASE}


@pytest.mark.parametrize(
    "change",
    [
        'options["shuffle"] = False',
        'options.update({"shuffle": False})',
        "options.update(dict(batch_size=8, shuffle=False))",
        "options.update(shuffle=False)",
        'changed = {"batch_size": 8, "shuffle": False}; options.update(changed)',
        "options.update(more)",
        "options.update(options)",
        'extra = {}; extra["shuffle"] = False; options.update(extra)',
        "extra = {}; extra.update(options); options.update(extra)",
        'options.pop("shuffle")',
        'del options["shuffle"]',
        "options.clear()",
        "options |= more",
        "options = more",
        "options[more] = False",
    ],
)
def test_what_is_changed_before(lint: Lint, change: str) -> None:
    lint(files(change), rules=["ML306"])


@pytest.mark.parametrize(
    "change",
    [
        "pass",
        'options["num_workers"] = 4',
        'options.update({"num_workers": 4})',
        "options.update(num_workers=4)",
        'extra = {"num_workers": 4, "pin_memory": True}; options.update(extra)',
        'options.setdefault("pin_memory", cuda)',
        'print(options["shuffle"], options.get("shuffle"))',
    ],
)
def test_what_leaves_the_order(lint: Lint, change: str) -> None:
    lint(files(change, "  # ML306"), rules=["ML306"])
