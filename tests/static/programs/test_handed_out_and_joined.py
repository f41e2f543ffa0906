"""Classes that functions hand out, classes with heirs in other files, branches that are joined, contexts of a model."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc, self.drop = nn.Linear(width, 3), nn.Dropout()

    def forward(self, x):
        return self.drop(self.fc(x))

class Wide(Net):
    pass

KINDS = {"net": Net}
"""

EVALUATE = """
import torch
from nets import get_model

def run(name, loader):
    model = get_model(name, 4)
    model.eval()
    for x in loader:
        print(model(x).data.max(1)[1].cpu().numpy())  # ML201
"""


@pytest.mark.parametrize(
    "handed",
    ["Net", '{"net": Net, "wide": Wide}[name]', "KINDS[name]"],
    ids=["a class", "of a table", "of a table of the file"],
)
def test_a_function_that_hands_out_a_class_is_run(lint: Lint, handed: str) -> None:
    picks = f"""
def get_model(name, width):
    model = pick(name)
    return model(width=width)

def pick(name):
    try:
        return {handed}
    except KeyError:
        print(name)
"""
    lint({"nets.py": NETS + picks, "run.py": EVALUATE}, check=["run.py"], rules=["ML201"])


def test_what_hands_out_no_code_is_still_no_model(lint: Lint) -> None:
    tables = """
NAMES = {"net": "a"}

def title(name):
    model = NAMES[name]
    return model

def report(loader):
    model = title("net")
    for x in loader:
        print(model, x.argmax(1).tolist())
"""
    lint(NETS + tables, rules=["ML101", "ML201"])


BASE = """
import abc

class Solver(abc.ABC):
    def fit(self, loader, held_out):
        self.model.train()
        for batch in loader:
            self.infer_batch(batch).mean().backward()
            self.optimizer.step()
        self.validate(held_out)

    def validate(self, loader):
        self.model.eval()
        return [self.infer_batch(batch).mean().item() for batch in loader]  # {mark}

    @abc.abstractmethod
    def infer_batch(self, batch):
        raise NotImplementedError
"""

HEIR = """
from {imported}

class Single({base}):
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def infer_batch(self, batch):
        return self.model(batch)
"""


@pytest.mark.parametrize(
    ("imported", "base"),
    [("base import Solver", "Solver"), ("pkg import base", "base.Solver"), ("base import Solver", "dict, Solver")],
    ids=["by its name", "by its module", "beside another"],
)
def test_what_a_base_leaves_to_heirs_is_found_in_them_however_the_base_is_written(
    lint: Lint, imported: str, base: str
) -> None:
    folder = "pkg/" if imported.startswith("pkg") else ""
    init = {"pkg/__init__.py": ""} if folder else {}
    files = {
        f"{folder}base.py": BASE.format(mark="ML201"),
        f"{folder}single.py": HEIR.format(imported=imported, base=base),
    }
    lint({**init, **files}, check=[f"{folder}base.py"], rules=["ML201"])


WRAP = """
from torch.nn.parallel import DistributedDataParallel

world_size = 1

def wrap(model):
    if world_size == 1:
        return model
    return DistributedDataParallel(model)
"""

APPLY = """
import torch

def apply_model(model, mix):
    model.eval()
    with torch.no_grad():
        return model(mix)
"""

SOLVER = """
import torch
import distrib
from apply import apply_model

class Solver:
    def __init__(self, model, quantizer, options):
        self.model = model
        self.wrapped = distrib.wrap(model)

    def train(self, loader, held_out):
        for epoch in range(9):
            self.model.train()
            self.run_epoch(loader)
            self.model.eval()
            with torch.no_grad():
                self.run_epoch(held_out, train=False)

    def run_epoch(self, loader, train=True):
        for idx, sources in enumerate(loader):
            if train:
                sources = sources[:, 1:]
            if not train and self.args.valid:
                estimate = apply_model(self.model, sources)
            else:
                estimate = self.wrapped(sources)
            loss = (estimate - sources).abs().mean()
            size = 0
            if self.quantizer is not None:
                size = self.quantizer.model_size()
            if self.options.quant:
                loss += self.options.quant * size
            if train:
                loss.backward()
            if self.options.most == idx:
                break
"""


def test_joined_branches_are_no_proof_that_a_model_trains_as_another_branch_left_it(lint: Lint) -> None:
    files = {"distrib.py": WRAP, "apply.py": APPLY, "solver.py": SOLVER}
    lint(files, check=["apply.py"], rules=["ML103"])
    lint(files, rules=["ML103"])


def test_joined_branches_that_agree_about_a_model_are_proof(lint: Lint) -> None:
    lint(
        """
        import torch

        def evaluate(model, loader):
            model.eval()
            with torch.no_grad():
                return [model(x).argmax(1).tolist() for x in loader]

        def run(model, teacher, critic, embedder, options, loader, held_out, optimizer):
            if options.teacher:
                teacher.eval()
            if options.critic:
                critic.eval()
            if options.embedder:
                embedder.eval()
            for epoch in range(9):
                for x, y in loader:
                    target = teacher(x) + critic(x) + embedder(x)
                    loss = (model(x) - target - y).abs().mean()  # ML103
                    loss.backward()
                    optimizer.step()
                print(evaluate(model, held_out))
        """,
        rules=["ML103"],
    )
