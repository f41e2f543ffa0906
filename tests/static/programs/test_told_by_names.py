"""What names tell, and do not: an architecture, a mode that is a variant, a method that is there."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

OUT_OF_SIGHT = """
        import torch
        from zoo import {CLASS} as Network

        def tag(path, x):
            net = Network(width=4)
            net.load_state_dict(torch.load(path, weights_only=True))
            {READY}
            with torch.no_grad():
                return net(x).argmax(-1).tolist(){MARK}
"""
BASE = """
        import torch
        from zoo import {CLASS} as Network

        class Tagger(Network):
            def forward(self, x):
                return super().forward(x)[0]

        def tag(path, x):
            net = Tagger(width=4)
            net.load_state_dict(torch.load(path, weights_only=True))
            {READY}
            with torch.no_grad():
                return net(x).argmax(-1).tolist(){MARK}
"""


@pytest.mark.parametrize("program", [OUT_OF_SIGHT, BASE], ids=["class", "base"])
@pytest.mark.parametrize(
    ("name", "ready", "mark"),
    [
        ("MSATransformer", "net.eval()", ""),
        ("Decoder", "pass", ""),
        ("Albert", "pass", ""),
        ("MSATransformer", "pass", "  # ML101"),
        ("ResNeXtEncoder", "pass", "  # ML101"),
        ("BertTagger", "pass", "  # ML101"),
    ],
)
def test_a_class_out_of_sight_that_is_named_for_an_architecture(
    lint: Lint, program: str, name: str, ready: str, mark: str
) -> None:
    if program is BASE:
        program = program.replace("from zoo", "from torchtools.nets").replace("(Network)", "(Network, torch.nn.Module)")
    lint(program.format(CLASS=name, READY=ready, MARK=mark), rules=["ML101"])


VARIANT = """
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def drop(self, x, mode):
                if {TEST}:
                    p = 0.5
                else:
                    p = 0.2
                return F.dropout(x, p){MARK}

            def forward(self, x):
                return self.drop(x, "hidden")
"""


@pytest.mark.parametrize(
    ("test", "mark"),
    [
        ('mode == "train"', ""),
        ("mode", ""),
        ('mode == "hidden" and self.training', ""),
        ('mode == "hidden"', "  # ML104"),
    ],
)
def test_a_mode_that_is_no_stage_of_training(lint: Lint, test: str, mark: str) -> None:
    lint(VARIANT.format(TEST=test, MARK=mark), rules=["ML104"])


HOOKS = """
        import torch
        from torch import nn

        class Model:
            def __init__(self):
                self.net = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.1))
                self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

            {HOOK}

            def learn(self, x, y):
                loss = nn.functional.cross_entropy(self.net(x), y){MARK}
                loss.backward()
                self.optimizer.step()

            def score(self, x):
                self.net.eval()
                with torch.no_grad():
                    return self.net(x).argmax(1).tolist()

        def train(batches, held_out):
            model = Model()
            for epoch in range(3):
                if hasattr(model, "on_epoch_begin"):
                    model.on_epoch_begin()
                for x, y in batches:
                    model.learn(x, y)
                print(model.score(held_out))
"""


def test_a_method_that_is_asked_for_is_there(lint: Lint) -> None:
    lint(HOOKS.format(HOOK="def on_epoch_begin(self): self.net.train()", MARK=""), rules=["ML103"])


def test_a_hook_that_does_something_else(lint: Lint) -> None:
    lint(HOOKS.format(HOOK="def on_epoch_begin(self): print('begins')", MARK="  # ML103"), rules=["ML103"])


DROPOUT = """
        import torch

        def fit(model, loader, held_out, optimizer, loss_fn, {OPTION}=False):
            model.eval()
            if {OPTION}:
                model.train()
            for x, y in loader:
                loss_fn(model(x), y).backward()
                optimizer.step()
            print(evaluate(model, held_out))

        def evaluate(model, held_out):
            with torch.no_grad():
                return [model(x).argmax(1).tolist() for x, _ in held_out]{MARK}
"""


@pytest.mark.parametrize(("option", "mark"), [("mc_dropout", ""), ("train_with_dropout", "  # ML101")])
def test_an_option_for_training_asks_for_no_samples(lint: Lint, option: str, mark: str) -> None:
    lint(DROPOUT.format(OPTION=option, MARK=mark), rules=["ML101"], possible=True)


BESIDE = """
        import torch

        class Shell:
            def load(self, path):
                self.state = torch.load(path, weights_only=True)
                self.model.load_state_dict(self.state)

            def decode_from_source(self, x):
                self.model.eval()
                return self.model.decode(self.model.encode(x)).argmax(-1).tolist()

            def decode_from_memory(self, memory):
                {READY}
                return self.model.decode(memory).argmax(-1).tolist(){MARK}

        class Transformer(Shell):
            def __init__(self, build):
                self.model = build()
"""


@pytest.mark.parametrize(("ready", "mark"), [("self.model.eval()", ""), ("pass", "  # ML101")])
def test_a_method_beside_one_that_calls_eval(lint: Lint, ready: str, mark: str) -> None:
    lint(BESIDE.format(READY=ready, MARK=mark), rules=["ML101"])


TRIED = """
        import torch

        def _test(model{MORE}):
            model.eval()
            print(model(torch.ones(1, 4)).argmax(1)){MARK}
"""


@pytest.mark.parametrize(("more", "mark"), [("=None", ""), (", steps=3", "  # ML201")])
def test_a_function_that_is_given_a_model_evaluates_it(lint: Lint, more: str, mark: str) -> None:
    lint(TRIED.format(MORE=more, MARK=mark), rules=["ML201"])


STEPS = """
        import torch
        from torch import nn

        class Trainer:
            def __init__(self, loader, held_out, optimizer):
                self.net = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.1))
                self.loader, self.held_out, self.optimizer = loader, held_out, optimizer

            def train(self):
                self.net.train()
                for x, y in self.loader:
                    nn.functional.cross_entropy(self.net(x), y).backward()
                    self.optimizer.step()
                print(self.{NAME}())

            def {NAME}(self):
                {READY}
                right = []
                for x, y in self.held_out:

                    def step(trainer):
                        with torch.no_grad():
                            right.append((trainer.net(x).argmax(1) == y).sum().item()){MARK}

                    step(self)
                    {ALSO}
                return right
"""


@pytest.mark.parametrize(
    ("name", "ready", "also", "mark"),
    [
        ("val_epoch", "self.net.eval()", "pass", ""),
        ("explore", "pass", "self.game.step(right)", ""),
        ("val_epoch", "pass", "pass", "  # ML101"),
        ("walk_through", "pass", "self.profiler.step()", "  # ML101"),
        ("walk_through", "pass", "self.scheduler.step(right)", "  # ML101"),
    ],
)
def test_a_step_of_an_evaluation_is_none_through_an_environment(
    lint: Lint, name: str, ready: str, also: str, mark: str
) -> None:
    lint(STEPS.format(NAME=name, READY=ready, ALSO=also, MARK=mark), rules=["ML101"])


ANCHORS = """
        import torch

        class Decoder:
            def __init__(self, path):
                self.NAME = torch.load(path)

            def infer(self, features):
                boxes = self.NAME(features)
                return boxes.argmax(1).tolist()
"""


@pytest.mark.parametrize("name", ["anchor_generator", "rpn_anchor_gen"])
def test_what_makes_anchors_learns_nothing(lint: Lint, name: str) -> None:
    lint(ANCHORS.replace("NAME", name), rules=["ML101", "ML201"], possible=True)


@pytest.mark.parametrize("name", ["generator", "anchor_head"])
def test_what_is_named_otherwise_may_have_a_mode(lint: Lint, name: str) -> None:
    marked = ANCHORS.replace("NAME(features)", "NAME(features)  # ML101,ML201")
    lint(marked.replace("NAME", name), rules=["ML101", "ML201"], possible=True)
