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


STACK = """
        import torch
        from torch import nn
        from zoo import make_layer

        class Net(nn.Module):
            def __init__(self, width, chance=0.0):
                super().__init__()
                self.first = nn.Linear(8, width)
                MADE

            def forward(self, x):
                return self.body(self.first(x))

        def predict(path, loader):
            net = Net(8)
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                for x in loader:
                    print(net(x).argmax(1))  # MARK
"""
LAYER = "layer = nn.TransformerEncoderLayer(width, 2, dropout=0.0); "


@pytest.mark.parametrize(
    "made",
    [
        LAYER + "self.body = nn.TransformerEncoder(layer, 3)",
        LAYER + "self.body = nn.TransformerEncoder(num_layers=3, encoder_layer=layer)",
        LAYER + "self.body = nn.Sequential(nn.TransformerEncoder(layer, 3), nn.Linear(width, 2))",
        LAYER.replace("layer", "self.layer", 1) + "self.body = nn.TransformerEncoder(self.layer, 3)",
        "self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 2, dropout=0), 3)",
    ],
)
def test_a_stack_of_layers_without_dropout_has_no_mode(lint: Lint, made: str) -> None:
    lint(STACK.replace("MADE", made).replace("MARK", "ML101:info"))


@pytest.mark.parametrize(
    "made",
    [
        LAYER.replace("0.0", "0.1") + "self.body = nn.TransformerEncoder(layer, 3)",
        LAYER.replace(", dropout=0.0", "") + "self.body = nn.TransformerEncoder(layer, 3)",
        "self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 2), 3)",
        "self.body = nn.TransformerEncoder(make_layer(width), 3)",
        "layer = make_layer(width); self.body = nn.TransformerEncoder(layer, 3)",
        "self.layer = nn.TransformerEncoderLayer(width, 2); self.body = nn.TransformerEncoder(self.layer, 3)",
    ],
)
def test_a_stack_of_layers_with_dropout_or_out_of_sight_has_one(lint: Lint, made: str) -> None:
    lint(STACK.replace("MADE", made).replace("MARK", "ML101:error"))


BARE = """
        import torch
        from torch import nn

        def predict(path, loader):
            layer = nn.TransformerEncoderLayer(8, 2, dropout=CHANCE)
            net = nn.TransformerEncoder(layer, 3)
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                for x in loader:
                    print(net(x).argmax(1))  # MARK
"""


@pytest.mark.parametrize(("chance", "mark"), [("0.0", "ML101:info"), ("0.1", "ML101:error")])
def test_a_stack_on_its_own(lint: Lint, chance: str, mark: str) -> None:
    lint(BARE.replace("CHANCE", chance).replace("MARK", mark))
