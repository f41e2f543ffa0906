"""Hooks of Lightning that code calls by hand, and stubs that stand in where a library is not installed."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

STEPS = """
        from torch import nn
        {BASE}

        class Net(LightningModule):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.1))

            def forward(self, x):
                return self.encoder(x)

            def validation_step(self, batch, index):
                self.log("loss", self(batch).square().mean())

            def predict_step(self, batch, index):
                return self(batch).argmax(1)
"""
FROM_LIBRARY = "from lightning import LightningModule"
IN_ITS_PLACE = """try:
            from pytorch_lightning import LightningModule
        except {ERROR}:
            {STUB}"""
STUBS = """
        class LightningModule:
            pass

        class nn:
            class Module:
                pass
"""
OF_PROJECT = """
        from torch import nn

        class LightningModule(nn.Module):
            def log(self, name, value):
                print(name, value)

            def run(self, batch):
                return self.validation_step(batch, 0)
"""


def in_its_place(stub: str, error: str = "ImportError") -> str:
    return STEPS.replace("{BASE}", IN_ITS_PLACE.replace("{ERROR}", error).replace("{STUB}", stub))


@pytest.mark.parametrize("error", ["ImportError", "(ImportError, OSError)", "ModuleNotFoundError"])
@pytest.mark.parametrize("stub", ["from .stubs import LightningModule", "from pkg.stubs import LightningModule"])
def test_what_stands_in_for_a_library_is_not_what_runs(lint: Lint, stub: str, error: str) -> None:
    lint({"pkg/__init__.py": "", "pkg/stubs.py": STUBS, "pkg/net.py": in_its_place(stub, error)}, possible=True)


def test_neither_is_an_empty_class(lint: Lint) -> None:
    lint(in_its_place("class LightningModule:\n                pass"), possible=True)


def test_the_same_module_by_another_path_is_what_runs(lint: Lint) -> None:
    base = """try:
            from base import LightningModule
        except ImportError:
            from .base import LightningModule"""
    run = """
        from pkg.net import Net

        def show(batch):
            net = Net()
            net.load_state_dict({})
            print(net.predict_step(batch, 0))  # ML101
        """
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": OF_PROJECT,
        "pkg/net.py": STEPS.replace("{BASE}", base),
        "run.py": run,
    }
    lint(files, check=["run.py"], rules=["ML101"])


BY_HAND = (
    STEPS.replace("{BASE}", FROM_LIBRARY)
    + """
        import torch

        def by_hand(path, loader):
            net = Net.load_from_checkpoint(path).eval()
            return [net.predict_step(x, i).tolist() for i, x in enumerate(loader)]{RECORDS}

        @torch.no_grad()
        def in_training_mode(path, loader):
            net = Net.load_from_checkpoint(path)
            return [net.predict_step(x, i).tolist() for i, x in enumerate(loader)]{TRAINS}

        @torch.no_grad()
        def readied(path, loader):
            net = Net.load_from_checkpoint(path).eval()
            return [net.predict_step(x, i).tolist() for i, x in enumerate(loader)]
"""
)


def test_whoever_calls_a_hook_switches_as_the_library_does(lint: Lint) -> None:
    lint(BY_HAND.replace("{RECORDS}", "  # ML201").replace("{TRAINS}", "  # ML101"))
