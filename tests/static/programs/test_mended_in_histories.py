"""Shapes of defects that the histories of public code mend, once missed: the correct code, then the defect."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

READER = """
from transformers import AutoModelForQuestionAnswering

class Reader:
    def __init__(self, name):
        self.name = name
        self.model = None

    def {method}(self):
        self.model = {model}
        {then}

    def answer(self, ids):
        return self.model(input_ids=ids).start_logits.argmax(-1).tolist()  # {mark}
"""
PRETRAINED = "AutoModelForQuestionAnswering.from_pretrained(self.name)"
OTHER = "pass\n\n    def swap(self, other):\n        self.model = other"


@pytest.mark.parametrize("then", ["self.model.requires_grad_(False)", OTHER])
def test_a_model_that_is_frozen_or_that_a_second_method_gives_is_left_alone(lint: Lint, then: str) -> None:
    lint(READER.format(method="warm_up", model=PRETRAINED, then=then, mark=""), rules=["ML201"])


def test_what_is_no_model_is_no_model_when_it_is_loaded_late(lint: Lint) -> None:
    tokenizer = "Tokenizer.from_pretrained(self.name)"
    lint(READER.format(method="warm_up", model=tokenizer, then="pass", mark=""), rules=["ML201"])


@pytest.mark.parametrize("method", ["load", "warm_up", "start"])
def test_a_model_is_loaded_by_a_method_of_any_name(lint: Lint, method: str) -> None:
    lint(READER.format(method=method, model=PRETRAINED, then="pass", mark="ML201"), rules=["ML201"])


TRAINER = """
import torch

def {function}:
    return Trainer(model)._test(loader)

class Trainer:
    def __init__(self, model):
        self.model = model

    def _test(self, loader):
        self.model.eval()
        right = 0
        {switch}
            for x, y in loader:
                right += (self.model(x).argmax(1) == y).sum().item()  # {mark}
        return right
"""


def test_a_function_that_tries_out_its_file_is_a_test(lint: Lint) -> None:
    lint(TRAINER.format(function="_test(model=None, loader=())", switch="if loader:", mark=""), rules=["ML201"])


def test_a_method_that_tests_without_gradients_is_right(lint: Lint) -> None:
    lint(TRAINER.format(function="run(model, loader)", switch="with torch.no_grad():", mark=""), rules=["ML201"])


@pytest.mark.parametrize("function", ["run(model, loader)", "_test(model, loader)"])
def test_a_method_that_tests_what_a_class_trained_is_no_test_of_its_code(lint: Lint, function: str) -> None:
    lint(TRAINER.format(function=function, switch="if loader:", mark="ML201"), rules=["ML201"])


CORPUS = """
class Trainer:
    def __init__(self, model, corpus):
        self.model = model
        self.corpus = corpus

    def train(self, size):
        {data}
        report(self.corpus.train)
        self.model.eval()
        return self.evaluate(self.corpus.dev)

    def evaluate(self, sentences):
        return [self.model(x).argmax(1).tolist() for x in sentences]  # {mark}
"""


def test_a_method_of_another_object_that_is_handed_over_may_be_this_one(lint: Lint) -> None:
    lint(CORPUS.format(data="size = 1", mark=""), rules=["ML201"])


@pytest.mark.parametrize("data", ["count = len(self.corpus.train)", "first = self.corpus.train[:size]"])
def test_data_that_is_called_like_a_method_hands_nothing_over(lint: Lint, data: str) -> None:
    lint(CORPUS.format(data=data, mark="ML201"), rules=["ML201"])


WRAPPED = """
import torch
from torch import nn
from torchvision.models import resnet50

class Normalize(nn.Module):
    def forward(self, x):
        return (x - 0.5) / 0.2

class Classifier(nn.Module):
    def __init__(self, pretrained=True):
        super().__init__()
        self.norm = Normalize()
        self.net = resnet50(pretrained={pretrained})
        {head}

    def forward(self, x):
        return self.net(self.norm(x))

def labels(batches):
    classifier = Classifier({given})
    {ready}
    for x in batches:
        {switch}
            _, label = torch.max(classifier(x), 1)  # {mark}
        yield label
"""
NO_GRAD = "with torch.no_grad():"


@pytest.mark.parametrize(
    ("pretrained", "head", "given", "ready", "switch"),
    [
        ("True", "pass", "", "classifier.eval()", NO_GRAD),
        ("False", "pass", "", "pass", "if True:"),
        ("pretrained", "pass", "False", "pass", "if True:"),
        ("True", "self.head = nn.Linear(1000, 10)", "", "pass", "if True:"),
        ("True", "self.net = read(self.net)", "", "pass", "if True:"),
    ],
)
def test_a_class_around_a_network_that_is_readied_or_has_no_weights_of_its_own(
    lint: Lint, pretrained: str, head: str, given: str, ready: str, switch: str
) -> None:
    code = WRAPPED.format(pretrained=pretrained, head=head, given=given, ready=ready, switch=switch, mark="")
    lint(code, rules=["ML101", "ML201"])


@pytest.mark.parametrize(
    ("pretrained", "ready", "switch", "mark"),
    [
        ("True", "pass", "if True:", "ML101, ML201"),
        ("pretrained", "pass", "if True:", "ML101, ML201"),
        ("True", "pass", NO_GRAD, "ML101"),
        ("True", "classifier.eval()", "if True:", "ML201"),
    ],
)
def test_a_class_around_a_loaded_network_has_loaded_weights(
    lint: Lint, pretrained: str, ready: str, switch: str, mark: str
) -> None:
    code = WRAPPED.format(pretrained=pretrained, head="pass", given="", ready=ready, switch=switch, mark=mark)
    lint(code, rules=["ML101", "ML201"])


FROZEN = """
import torch
from torch import nn
from torchvision.models import resnet50

class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = resnet50(pretrained=True)

    def train(self, mode=True):
        {train}
        return self

    @torch.no_grad()
    def forward(self, x):
        return self.net(x)

def predict(x):
    return Frozen().train()(x).argmax().item()  # {mark}
"""


@pytest.mark.parametrize("train", ["super().train(False)", "super().eval()"])
def test_what_train_puts_into_evaluation_mode_is_there(lint: Lint, train: str) -> None:
    lint(FROZEN.format(train=train, mark=""), rules=["ML101"])


@pytest.mark.parametrize("train", ["super().train(mode)", "super().train(mode)\n        self.count = 0"])
def test_what_train_hands_on_is_in_training_mode(lint: Lint, train: str) -> None:
    lint(FROZEN.format(train=train, mark="ML101"), rules=["ML101"])


TABLE = """
import torch
import torch.nn as nn

def accuracy({parameter}, loader, held_out):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam({parameter}.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        criterion({parameter}(x), y).backward()
        optimizer.step()
    {ready}
    right = 0
    for x, y in held_out:
        right += ({parameter}(x).data.argmax(1) == y).sum().item()  # {mark}
    return right

def compare(table, rates, a, b):
    for {target} in {rows}:
        print(accuracy({parameter}, a, b))
"""


@pytest.mark.parametrize(("parameter", "ready"), [("model", "model.eval()"), ("fit", "pass")])
def test_a_model_out_of_a_table_that_is_readied_and_what_is_not_called_like_one(
    lint: Lint, parameter: str, ready: str
) -> None:
    rows = {"target": f"i, ({parameter}, label)", "rows": "enumerate(table)"}
    lint(TABLE.format(parameter=parameter, ready=ready, mark="", **rows), rules=["ML101"])


@pytest.mark.parametrize(
    ("target", "rows"),
    [
        ("model, label", "table"),
        ("i, (model, label)", "enumerate(table)"),
        ("model, rate", "zip(table, rates)"),
        ("label, model", "table.items()"),
    ],
)
def test_a_model_out_of_a_table_is_a_model_where_it_is_handed_to(lint: Lint, target: str, rows: str) -> None:
    program = TABLE.format(parameter="model", ready="pass", mark="ML101", target=target, rows=rows)
    lint(program, rules=["ML101"])
