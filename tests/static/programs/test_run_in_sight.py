"""Inference that somebody else runs, or beside training: who runs it in sight, and what is cut off at once."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

READER = """
import functools
import torch
from transformers import AutoModelForQuestionAnswering

class Reader:
    def __init__(self, name):
        self.model = AutoModelForQuestionAnswering.from_pretrained(name)
        self.answer = {wrapped}

    def timed(self, run, name="time"):
        @functools.wraps(run)
        def timing(*args):
            {body}
        return timing

    def answer(self, ids):
        return self.model(input_ids=ids).start_logits.argmax(-1).tolist()  # {mark}

def timed(run):
    return lambda *args: run(*args)

def without_graph(run):
    return torch.no_grad()(run)
"""
RUNS = "return run(*args)"


@pytest.mark.parametrize(
    ("wrapped", "body"),
    [
        ("self.timed(self.answer)", "with torch.no_grad():\n                return run(*args)"),
        ("self.timed(self.answer)", "return self.workers.submit(run, *args)"),
        ("self.timed(print, self.answer)", RUNS),
        ("self.runner(self.answer)", RUNS),
        ("without_graph(self.answer)", RUNS),
        ("torch.no_grad()(self.timed(self.answer))", RUNS),
    ],
)
def test_what_is_handed_to_somebody_who_may_switch_autograd_off(lint: Lint, wrapped: str, body: str) -> None:
    lint(READER.format(wrapped=wrapped, body=body, mark=""), rules=["ML201"])


@pytest.mark.parametrize(
    "wrapped", ["self.timed(self.answer, 'query')", "self.timed(run=self.answer)", "timed(self.answer)"]
)
def test_what_is_wrapped_in_sight_only_to_be_called(lint: Lint, wrapped: str) -> None:
    lint(READER.format(wrapped=wrapped, body=RUNS, mark="ML201"), rules=["ML201"])


CLASSIFIER = """
import numpy as np
import torch

class Classifier:
    def __init__(self, model, loss, optimizer):
        self.model, self.loss, self.optimizer = model, loss, optimizer

    def {name}(self, x):
        {ready}
        found = np.zeros((len(x), 10))
        for i in range(len(x)):
            outputs = self.model(x[i])  # {mark}
            last = outputs[-1]
            found[i] = last.{cut}
        return found

    def fit(self, batches):
        for x, y in batches:
            self.model.train()
            given = self.{name}(x)
            self.optimizer.zero_grad()
            self.loss(self.model(x), y, given).backward()
            self.optimizer.step()
"""
CUT = "detach().cpu().numpy()"
EVAL = "self.model.eval()"


@pytest.mark.parametrize(
    ("name", "ready", "cut"),
    [("predict", EVAL, "softmax(0)"), ("predict", "self.model.train()", CUT), ("target", EVAL, CUT)],
)
def test_what_training_differentiates_runs_as_it_trains_or_takes_for_a_target(
    lint: Lint, name: str, ready: str, cut: str
) -> None:
    lint(CLASSIFIER.format(name=name, ready=ready, cut=cut, mark=""), rules=["ML201"])


def test_a_prediction_that_is_cut_off_needs_no_graph_even_for_training(lint: Lint) -> None:
    lint(CLASSIFIER.format(name="predict", ready=EVAL, cut=CUT, mark="ML201"), rules=["ML201"])
