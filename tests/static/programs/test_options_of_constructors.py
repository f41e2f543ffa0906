"""Layers that a constructor builds only where it is told to: what is built in sight is built as it is told."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

NETWORKS = """
import torch
import torch.nn.functional as F
from timm.layers import DropPath
from torch import nn

def pair(x):
    return x if isinstance(x, tuple) else (x, x)

class Block(nn.Module):
    def __init__(self, width, chance):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, width), nn.Dropout(p=chance))

    def forward(self, x):
        return self.body(x)

class Encoder(nn.Module):
    def __init__(self, width=4, dropout=0.1, norm="batch"):
        super().__init__()
        self.block = Block(width, dropout)
        if norm == "batch":
            self.norm = nn.BatchNorm1d(width)
        else:
            self.norm = nn.GroupNorm(1, width)

    def forward(self, x):
        return self.norm(self.block(x))

class Classifier(nn.Module):
    def __init__(self, classes, **options):
        super().__init__()
        self.encoder = Encoder(**options)
        self.head = nn.Linear(4, classes)

    def forward(self, x):
        return self.head(self.encoder(x))

class Kept(nn.Module):
    def __init__(self, width=4, drop=0.0, use_norm=False, sparse=True):
        super().__init__()
        self.chance = drop
        self.kind = "group"
        self.layers = self.build(width)
        self.norm = nn.BatchNorm1d(width) if use_norm else nn.Identity()
        if use_norm and sparse:
            self.other = nn.BatchNorm1d(width)
        self.recurrent = nn.LSTM(width, width, 2, dropout=drop)

    def build(self, width):
        return nn.Sequential(Encoder(width, self.chance, self.kind), nn.Dropout(self.chance))

    def forward(self, x):
        return self.recurrent(self.norm(self.layers(x)))[0]

class Heir(Kept):
    def __init__(self, drop=0.0):
        super().__init__(4, drop)
        self.scale = nn.Linear(4, 4)

class Quiet(Encoder):
    def __init__(self):
        super().__init__(4, dropout=0, norm="group")
        self.scale = nn.Linear(4, 4)

class Loud(Encoder):
    def __init__(self):
        Encoder.__init__(self, 4, norm="group")
        self.scale = nn.Linear(4, 4)

class Residual(nn.Module):
    def __init__(self, width, norm, use_dropout):
        super().__init__()
        self.block = self.build(width, norm, use_dropout)

    def build(self, width, norm, use_dropout):
        layers = [nn.Linear(width, width), norm(width)]
        if use_dropout:
            layers += [nn.Dropout(0.5)]
        return nn.Sequential(*layers)

    def forward(self, x):
        return x + self.block(x)

class Generator(nn.Module):
    def __init__(self, norm=nn.BatchNorm1d, use_dropout=False):
        super().__init__()
        self.body = nn.Sequential(Residual(4, norm, use_dropout), Residual(4, norm=norm, use_dropout=use_dropout))

    def forward(self, x):
        return self.body(x)

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Residual(4, norm=nn.LayerNorm, use_dropout=False)

    def forward(self, x):
        return self.body(x)

class Grouped(nn.Module):
    def __init__(self, width=4, group=False, sure=True):
        super().__init__()
        self.head = nn.Linear(width, width)
        self.norm = nn.GroupNorm(2, width) if group else nn.BatchNorm1d(width)
        if not sure:
            self.drop = nn.Dropout(0.1)
        else:
            self.drop = nn.Identity()

    def forward(self, x):
        return self.head(self.drop(self.norm(x)))

def mlp(width, dropout=0.0, *, norm=None):
    layers = [nn.Linear(width, width)]
    if norm == "batch":
        layers.append(nn.BatchNorm1d(width))
    if dropout > 0:
        layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers)

class Made(nn.Module):
    def __init__(self, width=4, chance=0.0, norm="layer"):
        super().__init__()
        self.body = mlp(width, chance, norm=norm)

    def forward(self, x):
        return self.body(x)

class Mlp(nn.Module):
    def __init__(self, width, drop=0.0):
        super().__init__()
        drops = pair(drop)
        self.fc = nn.Linear(width, width)
        self.first, self.second = nn.Dropout(drops[0]), nn.Dropout(drops[1])

    def forward(self, x):
        return self.second(self.first(self.fc(x)))

class Layer(nn.Module):
    def __init__(self, width, drop=0.0, drop_path=0.0):
        super().__init__()
        self.mlp = Mlp(width, drop=drop)
        self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()

    def forward(self, x):
        return x + self.drop_path(self.mlp(x))

class Transformer(nn.Module):
    def __init__(self, width=4, depth=2, drop_rate=0.0, drop_path_rate=0.0):
        super().__init__()
        rates = [rate.item() for rate in torch.linspace(0, drop_path_rate, depth)]
        self.layers = nn.ModuleList([Layer(width, drop_rate, drop_path=rates[i]) for i in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

class Moved(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        dropout = dropout or 0.5
        self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(dropout))

    def forward(self, x):
        return self.body(x)
"""

PREDICT = """
def predict(path, x, **given):
    chance, none = 0.5, 0
    net = {made}
    net.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return net(x).argmax(-1){mark}
"""

WITHOUT_A_MODE = [
    'Encoder(dropout=0, norm="group")',
    'Encoder(4, 0.0, "group")',
    'Encoder(4, none, norm="layer")',
    'Classifier(3, dropout=0, norm="group")',
    "Block(4, chance=0)",
    "Block(4, None)",
    "Kept()",
    "Kept(4, 0.0, False)",
    "Kept(sparse=True)",
    "Kept(use_norm=False, drop=0)",
    "Heir()",
    "Heir(0)",
    "Quiet()",
    "Made()",
    "Plain()",
    "Grouped(group=True)",
    "Grouped(4, True, True)",
    "Generator(nn.LayerNorm)",
    "Generator(norm=nn.LayerNorm, use_dropout=False)",
    "Transformer()",
    "Transformer(8, 4, drop_rate=0.0, drop_path_rate=0)",
    'Made(4, 0, norm="group")',
]


@pytest.mark.parametrize("made", WITHOUT_A_MODE)
def test_nothing_is_left_that_depends_on_the_mode(lint: Lint, made: str) -> None:
    lint(NETWORKS + PREDICT.format(made=made, mark="  # ML101:info"), rules=["ML101"])


WITH_A_MODE = [
    ("Encoder()", "Dropout in body in block"),
    ("Encoder(dropout=0)", "BatchNorm1d in norm"),
    ('Encoder(norm="group")', "Dropout in body in block"),
    ('Encoder(4, chance, "group")', "Dropout in body in block"),
    ("Classifier(3)", "Dropout in body in block in encoder"),
    ('Classifier(3, norm="group")', "Dropout in body in block in encoder"),
    ("Classifier(3, dropout=0)", "BatchNorm1d in norm in encoder"),
    ("Classifier(3, **given)", "Dropout in body in block in encoder"),
    ("Block(4, 0.5)", "Dropout in body"),
    ("Kept(4, 0.1)", "Dropout"),
    ("Kept(use_norm=True)", "BatchNorm1d"),
    ("Heir(0.1)", "Dropout"),
    ("Loud()", "Dropout"),
    ("Made(4, 0.5)", "Dropout"),
    ("Generator()", "BatchNorm1d"),
    ("Grouped()", "BatchNorm1d in norm"),
    ("Grouped(4, True, False)", "Dropout(p=0.1) in drop"),
    ("Generator(nn.LayerNorm, True)", "Dropout(p=0.5) in body"),
    ("Transformer(drop_rate=0.1)", "Dropout"),
    ("Transformer(4, 2, 0.0, 0.2)", "DropPath in drop_path in layers"),
    ('Made(norm="batch")', "BatchNorm1d"),
    ("Moved()", "Dropout in body"),
]


@pytest.mark.parametrize(("made", "layer"), WITH_A_MODE)
def test_what_is_asked_for_is_named(lint: Lint, made: str, layer: str) -> None:
    [found] = lint(NETWORKS + PREDICT.format(made=made, mark="  # ML101"), rules=["ML101"])
    assert layer in found.message
