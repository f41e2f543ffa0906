"""Weights that are no inputs, and layers that options of a constructor leave out: correct code first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SCORES = """
import torch
from torch import nn

class Tucker(nn.Module):
    def __init__(self, core, entities):
        super().__init__()
        self.core = nn.Parameter(torch.tensor(core), requires_grad=True)
        self.entities = nn.Embedding.from_pretrained(entities)
        self.norm = nn.BatchNorm1d(8)

    def scores(self, head):
        mixed = torch.mm(self.entities(head), self.core)
        return torch.sigmoid(self.norm(mixed)){mark}

def validate(core, entities, heads):
    model = Tucker(core, entities)
    model.eval()
    {switch}
    for head in heads:
        print(model.scores(head).argmax(1).tolist())
"""


def test_a_weight_is_no_input_that_asks_for_gradients(lint: Lint) -> None:
    lint(SCORES.format(switch="torch.set_grad_enabled(False)", mark=""), rules=["ML201", "ML202"])


def test_a_weight_is_no_reason_to_record(lint: Lint) -> None:
    lint(SCORES.format(switch="", mark="  # ML201"), rules=["ML201", "ML202"])


GUIDED = """
import torch
from torch import nn

class Guided(nn.Module):
    def __init__(self, size, mode="regular", norm=nn.BatchNorm2d):
        super().__init__()
        self.size = size
        self.mode = mode
        if self.mode == "conv":
            self.conv = nn.Sequential(nn.Conv2d(6, 32, 1), norm(32), nn.Conv2d(32, 3, 1))
        else:
            self.conv = None{more}

    def forward(self, x):
        return self.conv(x) if self.mode == "conv" else x * self.size

def test(x):
    guided = Guided({given})
    with torch.no_grad():
        print(guided(x).argmax(1)){mark}
"""


@pytest.mark.parametrize("given", ["7", "7, mode='box'", "7, norm=nn.SyncBatchNorm"])
def test_layers_of_a_class_that_is_given_where_no_option_asks_for_them(lint: Lint, given: str) -> None:
    lint(GUIDED.format(given=given, more="", mark=""), rules=["ML101", "ML401"])


@pytest.mark.parametrize(("given", "mark"), [("7, 'conv'", "ML101, ML401"), ("7, 'conv', nn.GroupNorm", "ML401")])
def test_layers_of_a_class_that_is_given_where_an_option_asks_for_them(lint: Lint, given: str, mark: str) -> None:
    lint(GUIDED.format(given=given, more="", mark=f"  # {mark}"), rules=["ML101", "ML401"])


def test_layers_of_a_class_that_is_given_which_no_option_leaves_out(lint: Lint) -> None:
    more = "\n        self.last = nn.Sequential(nn.Linear(3, 3), norm(3))"
    lint(GUIDED.format(given="7", more=more, mark="  # ML101, ML401"), rules=["ML101", "ML401"])


SHARED = """
import torch
from torch import nn

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList()

    def _add_norms(self, sizes):
        for size in sizes:
            self.norms.append(nn.BatchNorm1d(size))

    def run(self, x):
        for norm in self.norms:
            x = norm(x)
        return self.last(x)

class Plain(Base):
    def __init__(self, sizes):
        super().__init__()
        self.last = nn.Linear(3, 3)

    def forward(self, x):
        return self.run(x)

class Normed(Plain):
    def __init__(self, sizes, norm=False):
        super().__init__(sizes)
        if norm:
            self._add_norms(sizes)

class Named(Plain):
    def __init__(self, sizes, part="last"):
        super().__init__(sizes)
        getattr(self, "_add_" + part)(sizes)

def predict(x, path):
    net = {given}
    net.load_state_dict(torch.load(path))
    with torch.no_grad():
        print(net(x).argmax(1)){mark}
"""


@pytest.mark.parametrize("given", ["Normed([3])", "Normed([3], False)"])
def test_a_helper_that_a_constructor_calls_where_an_option_asks_for_it(lint: Lint, given: str) -> None:
    lint(SHARED.format(given=given, mark="  # ML101:info"), rules=["ML101"], possible=True)


@pytest.mark.parametrize("given", ["Normed([3], True)", "Named([3], 'norms')"])
def test_a_helper_that_an_option_asks_for(lint: Lint, given: str) -> None:
    lint(SHARED.format(given=given, mark="  # ML101:error"), rules=["ML101"], possible=True)


def test_a_helper_of_a_base_that_its_heirs_call(lint: Lint) -> None:
    lint(SHARED.format(given="Plain([3])", mark="  # ML101:error"), rules=["ML101"], possible=True)


DROPS = """
import torch
from torch import nn

class Small(nn.Module):
    def __init__(self, size, rate=-1):
        super().__init__()
        self.layer, self.rate = nn.Linear(size, 4), rate
        if rate != -1:
            self.drop = nn.Dropout(p=rate)

    def forward(self, x):
        x = self.layer(x)
        return self.drop(x) if self.rate != -1 else x

def predict(x, path):
    net = Small({given})
    net.load_state_dict(torch.load(path))
    with torch.no_grad():
        print(net(x).argmax(1)){mark}
"""


@pytest.mark.parametrize("given", ["8", "8, -1", "8, rate=-1.0"])
def test_dropout_that_minus_one_leaves_out(lint: Lint, given: str) -> None:
    lint(DROPS.format(given=given, mark="  # ML101:info"), rules=["ML101"])


def test_dropout_that_a_chance_asks_for(lint: Lint) -> None:
    lint(DROPS.format(given="8, 0.5", mark="  # ML101:error"), rules=["ML101"])


BLOCKS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, stride=1, norm=True):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 3, stride), norm
        if self.norm:
            self.bn = nn.BatchNorm2d(width)

    def forward(self, x):
        return self.bn(self.conv(x)) if self.norm else self.conv(x)

class Residual(nn.Module):
    def __init__(self, block, depth, norm=True):
        super().__init__()
        self.stem = {stem}
        self.layers = self.make_layers(block, depth, norm)
        self.last = nn.Linear(8, 10)

    def make_layers(self, block, depth, norm):
        layers = []
        for stride in [2] + [1] * (depth - 1):
            layers.append(block(8, stride, {handed}))
        return nn.Sequential(*layers)

    def forward(self, x):
        return self.last(self.layers(self.stem(x)).flatten(1))

def predict(x, path):
    net = Residual({given})
    net.load_state_dict(torch.load(path))
    with torch.no_grad():
        print(net(x).argmax(1)){mark}
"""


@pytest.mark.parametrize(
    ("stem", "handed", "given"),
    [
        ("nn.Identity()", "norm", "Block, 2, norm=False"),
        ("block(8, norm=norm)", "norm=norm", "Block, 2, False"),
        ("block(8, norm=False)", "norm=False", "Block, 2"),
    ],
)
def test_blocks_that_are_built_without_their_norm(lint: Lint, stem: str, handed: str, given: str) -> None:
    lint(BLOCKS.format(stem=stem, handed=handed, given=given, mark="  # ML101:info"), rules=["ML101"])


@pytest.mark.parametrize(
    ("stem", "handed", "given"),
    [
        ("nn.Identity()", "norm", "Block, 2"),
        ("block(8)", "norm=norm", "Block, 2, False"),
        ("block(8, norm=norm)", "norm=True", "Block, 2, False"),
    ],
)
def test_blocks_that_are_built_with_their_norm(lint: Lint, stem: str, handed: str, given: str) -> None:
    lint(BLOCKS.format(stem=stem, handed=handed, given=given, mark="  # ML101:error"), rules=["ML101"])


def test_blocks_that_are_the_default_of_a_class(lint: Lint) -> None:
    text = BLOCKS.replace("block, depth, norm=True", "depth, norm=True, block=Block")
    filled = {"stem": "nn.Identity()", "handed": "norm"}
    lint(text.format(**filled, given="2, norm=False", mark="  # ML101:info"), rules=["ML101"])
    lint(text.format(**filled, given="2", mark="  # ML101:error"), rules=["ML101"])


def test_a_class_that_builds_one_of_its_own_kind(lint: Lint) -> None:
    lint(
        """
        import torch
        from torch import nn

        class Nested(nn.Module):
            def __init__(self, inner, depth, norm=True):
                super().__init__()
                self.norm = nn.BatchNorm2d(8) if norm else nn.Identity()
                self.inner = inner(Nested, depth - 1, norm=norm) if depth else nn.Identity()

            def forward(self, x):
                return self.inner(self.norm(x))

        def predict(x, path):
            net = Nested(Nested, 3)
            net.load_state_dict(torch.load(path))
            with torch.no_grad():
                print(net(x).argmax(1))  # ML101
        """,
        rules=["ML101"],
    )
