"""Whether a mode matters: layers that ask for it themselves where they are told to, layers that repeat another one."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

ROUNDS = """
        import torch
        from torch import nn

        class Round(nn.Module):
            def __init__(self, scale=1.0, noisy=False):
                super().__init__()
                self.scale = scale
                self.noisy = noisy

            def forward(self, x):
                x = x * self.scale
                if self.noisy:
                    if self.training:
                        return x + torch.rand_like(x)
                return x.round()

        def predict(path, loader, options):
            net = nn.Sequential(nn.Linear(3, 3), Round(OPTIONS))
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                for x in loader:
                    print(net(x).argmax(1))  # MARK
"""


@pytest.mark.parametrize("options", ["", "2.0", "noisy=False", "2.0, False"])
def test_a_layer_that_is_not_told_to_ask_for_its_mode_has_none(lint: Lint, options: str) -> None:
    lint(ROUNDS.replace("OPTIONS", options).replace("MARK", "ML101:info"))


@pytest.mark.parametrize("options", ["noisy=True", "2.0, True", "noisy=options.noisy"])
def test_a_layer_that_is_told_to_has_one(lint: Lint, options: str) -> None:
    lint(ROUNDS.replace("OPTIONS", options).replace("MARK", "ML101:error"))


@pytest.mark.parametrize("options", ["", "2.0"])
def test_a_layer_that_always_asks_has_one(lint: Lint, options: str) -> None:
    always = ROUNDS.replace("if self.noisy:", "if self.scale is not NotImplemented:")
    lint(always.replace("OPTIONS", options).replace("MARK", "ML101:error"))
