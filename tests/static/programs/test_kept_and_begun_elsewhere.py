"""Models that functions keep, that constructors load and that branches fill; evaluations whose helpers switch no mode.

Correct code comes first in each.
"""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

NET = """
import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.layer, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)
        {loads}

    def forward(self, x):
        return self.drop(self.layer(x))
"""

KEPT = (
    NET
    + """
def predict(x):
    if not hasattr(predict, "model"):
        predict.model = Net("net"){ready}
    return predict.model(x).argmax(1).tolist(){mark}
"""
)

READS = "self.arrays = np.load(path, allow_pickle=True).item()"


@pytest.mark.parametrize(
    ("loads", "ready", "mark"),
    [
        (READS, ".eval()", ""),
        ("if path.exists():\n            " + READS, "", ""),  # nothing is loaded for certain, nor is it random
        ("self.path = path", "", "  # ML101"),  # nothing loads weights: they were forgotten as well
        ("self.log = np.zeros(4)", "", "  # ML101"),
        (READS, "", "  # ML101"),
        ("self.load_state_dict(torch.load(path))", "", "  # ML101"),
    ],
)
def test_a_model_that_a_function_keeps(lint: Lint, loads: str, ready: str, mark: str) -> None:
    lint({"app.py": KEPT.format(loads=loads, ready=ready, mark=mark)}, rules=["ML101"])


BRANCH = """
import torch

class Adapter:
    def _load(self, spec, path):
        self.model = {made}
        self.model.to("cuda"){between}
        if path is not None:
            self.model.load_state_dict(torch.load(path)){after}

    def forward(self, x):
        with torch.no_grad():
            return self.model(x).argmax(1).cpu().numpy(){mark}
"""


@pytest.mark.parametrize(
    ("made", "between", "after", "mark"),
    [
        ("spec.architecture(**spec.options)", "", "\n        self.model.eval()", ""),
        ("spec.architecture(**spec.options)", "\n        spec.prepare(self.model)", "", ""),
        ("getattr(spec, path.stem)", "", "", ""),  # which was there before
        ("spec.zoo.get(path.stem)", "", "", ""),
        ("spec.architecture(**spec.options)", "", "", "  # ML101"),
        ("spec.zoo.get(path.stem)(**spec.options)", "", "", "  # ML101"),
    ],
)
def test_what_one_branch_loads_was_just_built(lint: Lint, made: str, between: str, after: str, mark: str) -> None:
    lint({"app.py": BRANCH.format(made=made, between=between, after=after, mark=mark)}, rules=["ML101"])


BATCHES = """
import torch

class Evaluator:
    def __init__(self, loader):
        self.loader = loader

    def eval(self, model):
        model.eval()
        for batch in self.loader:
            with torch.no_grad():
                scores = model(batch)
                labels = model.{helper}(batch)
            print(scores.argmax(1), labels){restore}

def train(model, optimizer, batches, held_out):
    model.train()
    for step, (x, y) in enumerate(batches):
        loss = model(x).sub(y).square().mean(){mark}
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            Evaluator(held_out).eval(model)
"""


@pytest.mark.parametrize(
    ("helper", "restore", "mark"),
    [
        ("prepare_labels", "\n        model.train()", ""),
        ("prepare", "", ""),
        ("prepare_for_training", "", ""),
        ("unfreeze_all", "", ""),
        ("prepare_labels", "", "  # ML103"),
        ("prepare_decoder_inputs", "", "  # ML103"),
    ],
)
def test_who_prepares_labels_switches_no_mode(lint: Lint, helper: str, restore: str, mark: str) -> None:
    lint({"app.py": BATCHES.format(helper=helper, restore=restore, mark=mark)}, rules=["ML103"])


ONLINE = """
import torch
from torch import nn

class Regressor:
    def __init__(self, module_cls, **options):
        self.module_cls, self.options, self.ready = module_cls, options, False
        self.module: nn.Module = None

    def set_up(self):
        self.module = self.module_cls(**self.options)
        self.ready = True

    def learn_one(self, x, y):
        if not self.ready:
            self.set_up()
        self.module.train()
        loss = (self.module(x) - y).square().mean()
        loss.backward()
        self.optimizer.step()

    def predict_one(self, x):
        if not self.ready:
            self.set_up()
        {first}
        with torch.no_grad():
            return self.module(x).item(){first_mark}

    def predict_many(self, x):
        if not self.ready:
            self.set_up()
        {second}
        with torch.no_grad():
            return self.module(x).tolist(){second_mark}
{use}
"""

TOY = """
if __name__ == "__main__":
    tried = Regressor(lambda: nn.Linear(2, 1))
    tried.learn_one(torch.ones(2), torch.ones(1))
    print(tried.predict_many(torch.ones(3, 2)))
"""


@pytest.mark.parametrize("use", ["", TOY])
@pytest.mark.parametrize(
    ("first", "second", "first_mark", "second_mark"),
    [
        ("self.module.eval()", "self.module.eval()", "", ""),
        ("self.module.train(False)", "self.module.train(False)", "", ""),
        ("self.module.eval()", "pass", "", "  # ML101"),
        ("pass", "pass", "", ""),  # nobody of the class thinks of eval()
    ],
)
def test_a_method_without_the_eval_of_the_one_beside(
    lint: Lint, first: str, second: str, first_mark: str, second_mark: str, use: str
) -> None:
    marks = {"first_mark": first_mark, "second_mark": second_mark}
    lint({"app.py": ONLINE.format(first=first, second=second, use=use, **marks)}, rules=["ML101"])


SAMPLES = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.layer(x))

    def predict_spread(self, x, count):
        was = self.training
        {switch}
        with torch.no_grad():
            rows = [self(x).argmax(1) for _ in range(count)]{mark}
        {back}
        return torch.stack(rows).float().std(0).numpy()
"""


@pytest.mark.parametrize(
    ("switch", "back", "mark"),
    [
        ("self.eval()", "self.train(was)", ""),
        ("if not was:\n            self.train()", "if not was:\n            self.eval()", ""),
        ("self.train()", "self.eval()", "  # ML101"),
    ],
)
def test_a_mode_that_is_entered_where_it_was_not(lint: Lint, switch: str, back: str, mark: str) -> None:
    lint({"app.py": SAMPLES.format(switch=switch, back=back, mark=mark)}, rules=["ML101"])
