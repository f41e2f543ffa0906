"""Whether a model depends on the mode where its layers are given to it, by the caller or by a library."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

USE = """
import torch
{imports}
from torch import nn

{classes}

def predict(x):
    model = {built}
    model.load_state_dict(torch.load("a.pt", weights_only=True))
    with torch.no_grad():
        return model(x).argmax(-1).tolist()  # ML101{severity}
"""

KEEPS = """
class Encoder(nn.Module):
    def __init__(self, width, embedding=None, layer=nn.Linear):
        super().__init__()
        self.embedding = nn.Embedding(9, width) if embedding is None else embedding
        self.inner = embedding
        self.out = layer(width, width)

    def forward(self, x):
        return self.out(self.inner(self.embedding(x)))

class Net(nn.Module):
    def __init__(self, vocabulary, part=None):
        super().__init__()
        self.table = nn.Embedding(vocabulary, 8)
        self.encoder = Encoder({given})

    def forward(self, x):
        return self.encoder(x)
"""

FREE = {
    "an embedding that two parts share": "8, self.table",
    "by name": "8, embedding=self.table",
    "a layer made on the spot": "8, nn.Linear(8, 8)",
    "either of two": "8, self.table if vocabulary else nn.Identity()",
    "nothing": "8, None",
    "a factory": "8, self.table, nn.Conv1d",
    "a factory with arguments of its own": "8, self.table, layer=functools.partial(nn.Linear, bias=False)",
}
DEPENDENT = {
    "the last of three is dropout": "8, self.table if vocabulary else nn.Dropout(0.1)",
    "a factory of dropout": "8, self.table, layer=nn.Dropout",
}
OPEN = {
    "everything at once": "*vocabulary",
    "made out of sight": "8, vocabulary.layer()",
}


def program(given: str, severity: str, built: str = "Net(100)") -> str:
    classes = KEEPS.format(given=given)
    return USE.format(imports="import functools", classes=classes, built=built, severity=severity)


@pytest.mark.parametrize("name", FREE)
def test_what_it_is_given_does_not_depend_on_the_mode(lint: Lint, name: str) -> None:
    lint(program(FREE[name], ":info"), rules=["ML101"])


@pytest.mark.parametrize("name", OPEN)
def test_what_it_is_given_comes_from_out_of_sight_and_may_depend_on_the_mode_or_not(lint: Lint, name: str) -> None:
    lint(program(OPEN[name], ":error"), rules=["ML101"], possible=True)
    lint(program(OPEN[name], ":error").replace("  # ML101:error", ""), rules=["ML101"])


@pytest.mark.parametrize("name", DEPENDENT)
def test_what_it_is_given_depends_on_the_mode(lint: Lint, name: str) -> None:
    lint(program(DEPENDENT[name], ":error"), rules=["ML101"])


def test_what_the_outermost_is_given_is_looked_at_where_it_is_built(lint: Lint) -> None:
    lint(program("8, part", ":info", built="Net(100, part=nn.Sequential(nn.Linear(8, 8)))"), rules=["ML101"])


def test_what_the_outermost_is_given_comes_from_out_of_sight(lint: Lint) -> None:
    lint(program("8, part", ":error", built="Net(100, part=x.layer)"), rules=["ML101"], possible=True)


def test_what_is_given_by_name_is_known_beside_what_is_spread(lint: Lint) -> None:
    lint(program("8, part", ":info", built="Net(part=nn.Linear(8, 8), **x.config)"), rules=["ML101"])
    lint(program("8, part", ":error", built="Net(100, **x.config)"), rules=["ML101"], possible=True)


def test_dropout_within_what_the_outermost_is_given(lint: Lint) -> None:
    lint(program("8, part", ":error", built="Net(100, part=nn.Sequential(nn.Dropout()))"), rules=["ML101"])


def test_a_default_is_taken_where_nothing_is_given(lint: Lint) -> None:
    lint(program("8, part", ":info", built="Net(100)"), rules=["ML101"])


BLOCK = "from timm.models.vision_transformer import Block"
LIBRARY = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = {layer}

    def forward(self, graph, x):
        return self.first(graph, x)
"""


@pytest.mark.parametrize(
    "layer",
    [
        "GraphConv(8, 8)",
        "dgl.nn.pytorch.conv.GraphConv(8, 8)",
        "GATConv(8, 8, 4)",
        "GATConv(8, 8, 4, 0.0, 0, residual=True)",
        "GATConv(8, 8, 4, feat_drop=0.0)",
        "SAGEConv(8, 8, 'mean')",
        "EdgeConv(8, 8, batch_norm=False)",
        "nn.LSTM(8, 8, 2, True, True)",
        "nn.MultiheadAttention(8, 2, bias=False)",
        "Block(8, 2, 4.0, qkv_bias=True, norm_layer=nn.LayerNorm)",
        "Block(8, 2, drop_path=0.0)",
    ],
)
def test_layers_of_libraries_without_dropout(lint: Lint, layer: str) -> None:
    classes = LIBRARY.format(layer=layer)
    imports = "import dgl\nfrom dgl.nn import EdgeConv, GATConv, GraphConv, SAGEConv\n" + BLOCK
    lint(USE.format(imports=imports, classes=classes, built="Net()", severity=":info"), rules=["ML101"])


@pytest.mark.parametrize(
    "layer",
    [
        "GATConv(8, 8, 4, 0.6)",
        "GATConv(8, 8, 4, attn_drop=rate)",
        "EdgeConv(8, 8, True)",
        "HGTConv(8, 8, 4, 2, 2)",
        "nn.LSTM(8, 8, 2, True, True, 0.5)",
        "nn.MultiheadAttention(8, 2, 0.1)",
        "nn.RNN(8, 8, 2, 'relu', True, True, 0.5)",
        "Block(8, 2, drop_path=rate)",
    ],
)
def test_layers_of_libraries_with_dropout(lint: Lint, layer: str) -> None:
    classes = LIBRARY.format(layer=layer).replace("def __init__(self)", "def __init__(self, rate=0.1)")
    imports = "from dgl.nn import EdgeConv, GATConv, HGTConv\n" + BLOCK
    lint(USE.format(imports=imports, classes=classes, built="Net()", severity=":error"), rules=["ML101"])


GENERIC = """
import typing
from abc import ABC
import torch
from torch import nn

T = typing.TypeVar("T")

class Model(nn.Module, typing.Generic[T], ABC):
    def predict(self, x):
        with torch.no_grad():
            return self.forward(x).argmax(-1).tolist()

class Tagger(Model[str]):
    def __init__(self):
        super().__init__()
        self.dropout = nn.{layer}
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.dropout(x))

    def tag(self, x):
        with torch.no_grad():
            return self.forward(x).argmax(-1).tolist()

def run(x):
    model = Tagger()
    model.load_state_dict(torch.load("a.pt", weights_only=True))
    with torch.no_grad():
        return model(x).argmax(-1).tolist()  # ML101{severity}
"""


def test_a_generic_base_is_a_module_like_any_other(lint: Lint) -> None:
    lint(GENERIC.format(layer="Identity()", severity=":info"), rules=["ML101"])
    lint(GENERIC.format(layer="Dropout()", severity=":error"), rules=["ML101"])


AMOUNTS = """
class Block(nn.Module):
    def __init__(self, width, drop=0.0):
        super().__init__()
        self.drop = nn.Dropout(drop)
        self.rnn = nn.LSTM(width, width, 2, dropout=drop)

    def forward(self, x):
        return self.drop(self.rnn(x)[0])

class Net(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        self.block = Block(width, dropout)

    def forward(self, x):
        return self.block(x)
"""


def amounts(built: str, severity: str) -> str:
    return USE.format(imports="", classes=AMOUNTS, built=built, severity=severity)


@pytest.mark.parametrize("built", ["Net(8)", "Net(8, 0)", "Net(8, dropout=0.0)"])
def test_a_dropout_of_zero_unless_somebody_asks_for_more(lint: Lint, built: str) -> None:
    lint(amounts(built, ":info"), rules=["ML101"])


def test_a_chance_that_may_be_among_what_is_spread(lint: Lint) -> None:
    lint(amounts("Net(8, **x.config)", ":error"), rules=["ML101"], possible=True)


@pytest.mark.parametrize("built", ["Net(8, 0.1)", "Net(8, dropout=x.dropout)"])
def test_a_dropout_that_somebody_asks_for(lint: Lint, built: str) -> None:
    lint(amounts(built, ":error"), rules=["ML101"])


READY = """
class Descriptor(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(8)
        {last}

    def forward(self, x):
        return self.norm(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Descriptor()

    def forward(self, x):
        return self.first(x)
"""


def test_a_part_that_switches_itself_when_it_is_built(lint: Lint) -> None:
    text = USE.format(imports="", classes=READY.format(last="self.eval()"), built="Net()", severity="")
    lint(text.replace("  # ML101", ""), rules=["ML101"])


def test_a_part_that_does_not_switch_itself(lint: Lint) -> None:
    lint(
        USE.format(imports="", classes=READY.format(last="self.norm.eps = 0.1"), built="Net()", severity=""),
        rules=["ML101"],
    )


IN_BACKBONE = """
class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.backbone = timm.create_model(kind)
        self.out = kind.layer()

    def forward(self, x):
        return self.out(self.backbone(x))
"""


def test_a_model_of_a_library_most_likely_depends_on_the_mode(lint: Lint) -> None:
    lint(USE.format(imports="import timm", classes=IN_BACKBONE, built="Net('a')", severity=""), rules=["ML101"])


FEATURES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(4, 4))
        self.classifier = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 4))
        {more}

    def init_weights(self):
        for module in self.modules():
            module.reset_parameters()

    def forward(self, x):
        for name, module in self.{source}():
            x = module(x)
        return x
"""


def features(more: str, source: str, severity: str) -> str:
    return USE.format(imports="", classes=FEATURES.format(more=more, source=source), built="Net()", severity=severity)


def test_a_part_that_the_class_never_runs(lint: Lint) -> None:
    lint(features("self.width = 4", "features.named_children", ":info"), rules=["ML101"])


def test_a_part_that_another_part_is_made_of(lint: Lint) -> None:
    lint(features("self.features.append(self.classifier)", "features.named_children", ":error"), rules=["ML101"])


def test_all_parts_in_turn(lint: Lint) -> None:
    lint(features("self.width = 4", "named_children", ":error"), rules=["ML101"])


ASKED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.dropout = nn.Linear(4, 4), nn.Dropout()

    def forward(self, x, {option}):
        x = self.fc(x)
        return {result}
"""


@pytest.mark.parametrize(
    ("option", "result", "severity"),
    [
        ("dropping=False", "self.dropout(x) if dropping else x", ":info"),
        ("dropping=True", "self.dropout(x) if dropping else x", ":error"),
        ("dropping", "self.dropout(x) if dropping else x", ":error"),
        ("dropping=False", "x if dropping else self.dropout(x)", ":error"),
        ("dropping=False", "self.dropout(x) if self.fc.bias is None else x", ":error"),
        ("dropping=False", "self.dropout(self.dropout(x) if dropping else x)", ":error"),
    ],
)
def test_a_part_that_runs_only_where_a_caller_asks_for_it(lint: Lint, option: str, result: str, severity: str) -> None:
    classes = ASKED.format(option=option, result=result)
    lint(USE.format(imports="", classes=classes, built="Net()", severity=severity), rules=["ML101"])


RECURRENT = """
class Net(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.rnn = nn.GRU({arguments})

    def forward(self, x):
        return self.rnn(x)[0]
"""


@pytest.mark.parametrize("arguments", ["4, 4, dropout=0.5", "4, 4, 1, dropout=0.5"])
def test_dropout_between_the_layers_of_one(lint: Lint, arguments: str) -> None:
    classes = RECURRENT.format(arguments=arguments)
    lint(USE.format(imports="", classes=classes, built="Net(2)", severity=":info"), rules=["ML101"])


@pytest.mark.parametrize("arguments", ["4, 4, 2, dropout=0.5", "4, 4, dropout=0.5, num_layers=layers"])
def test_dropout_between_layers(lint: Lint, arguments: str) -> None:
    classes = RECURRENT.format(arguments=arguments)
    lint(USE.format(imports="", classes=classes, built="Net(2)", severity=":error"), rules=["ML101"])
