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

def {function}(model, loader):
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
    lint(TRAINER.format(function="_test", switch="if loader:", mark=""), rules=["ML201"])


def test_a_method_that_tests_without_gradients_is_right(lint: Lint) -> None:
    lint(TRAINER.format(function="run", switch="with torch.no_grad():", mark=""), rules=["ML201"])


def test_a_method_that_tests_what_a_class_trained_is_no_test_of_its_code(lint: Lint) -> None:
    lint(TRAINER.format(function="run", switch="if loader:", mark="ML201"), rules=["ML201"])


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
