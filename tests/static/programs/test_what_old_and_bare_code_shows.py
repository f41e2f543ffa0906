"""Evidence in code from before torch 0.4, and in classes that never say a word about the mode of their model."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PLAY = """
import torch
from torch.autograd import Variable
from envs import make_env

actor, filters = torch.load("trained.pt", weights_only=False)
actor.eval()
env = make_env()
obs = env.reset()

while True:
    {act}
    obs, reward, done, _ = env.step(action.data.squeeze(1).cpu().numpy())
"""


def test_volatile_inputs_of_a_method_that_nobody_knows(lint: Lint) -> None:
    """Who marks an input volatile runs a model, whatever its method is called, and means no graph."""
    under = "with torch.no_grad():\n        value, action = actor.choose(Variable(obs), deterministic=True)"
    volatile = "value, action = actor.choose(Variable(obs, volatile=True), deterministic=True)  # ML201"
    lint(PLAY.format(act=under), rules=["ML201"])
    lint(PLAY.format(act=volatile), rules=["ML201"])


def test_what_comes_of_a_volatile_input_runs_nothing_by_itself(lint: Lint) -> None:
    """An environment, an optimizer and a log are no models, whatever they are given."""
    program = """
    import torch
    from torch.autograd import Variable

    def rollout(model, env, optimizer, rollouts, obs):
        with torch.no_grad():
            action = model(Variable(obs, volatile=True))
        rollouts.insert(Variable(obs, volatile=True))
        seen = optimizer.look_at(Variable(obs, volatile=True))
        return env.step(action), seen
    """
    lint(program, rules=["ML201"])


EVALUATE = """
import torch
from torch import nn

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        return self.drop(x)

class Experiment:
    def __init__(self, criterion):
        self.model = Network()
        self.criterion = criterion

    def fit(self, loader, optimizer):
        self.model.train()
        for x, y in loader:
            optimizer.zero_grad()
            self.criterion(self.model(x), y).backward()
            optimizer.step()

    def evaluate(self, loader):
        {mode}
        losses = torch.FloatTensor(len(loader))
        for index, (x, y) in enumerate(loader):
            loss = self.criterion(self.model(x), y)  # {mark}
            losses[index] = {number}
        return torch.mean(losses)

def main(loader, optimizer, criterion):
    experiment = Experiment(criterion)
    experiment.fit(loader, optimizer)
    print(experiment.evaluate(loader))
"""


@pytest.mark.parametrize("number", ["loss.data[0]", "loss.item()"])
@pytest.mark.parametrize(("mode", "mark"), [("self.model.eval()", "fine"), ("pass", "ML101")])
def test_the_number_of_a_loss_as_it_was_once_read(mode: str, mark: str, number: str, lint: Lint) -> None:
    lint(EVALUATE.format(mode=mode, mark=mark, number=number), rules=["ML101"])


PREDICTOR = """
import torch
from torch import nn

class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.drop = nn.Dropout2d(0.1)

    def forward(self, x):
        return self.drop(self.conv(x))

    def {name}(self, x):
        {ready}
        {switch}
            x = self.forward(x)  # {mark}
        return x
"""

READY = "if self.training:\n            self.eval()"


@pytest.mark.parametrize(
    ("name", "ready", "switch", "mark"),
    [
        ("predict", READY, "with torch.no_grad():", "fine"),
        ("features", READY, "if True:", "fine"),
        ("predict", "pass", "if True:", "fine"),
        ("predict", READY, "if True:", "ML201"),
    ],
    ids=["under no_grad", "features may be trained on", "its callers ready it", "it readies itself"],
)
def test_a_module_that_puts_itself_into_evaluation_mode_to_predict(
    name: str, ready: str, switch: str, mark: str, lint: Lint
) -> None:
    lint(PREDICTOR.format(name=name, ready=ready, switch=switch, mark=mark), rules=["ML201"])


TRAINER = """
import torch
from networks import build_network
from utils import to_device

class Trainer({bases}):
    def __init__(self, plans):
        self.network = build_network(plans)
        self.optimizer = torch.optim.SGD(self.network.parameters(), 0.1)
        self.loss = torch.nn.CrossEntropyLoss()

    def on_train_epoch_start(self):
        {train}

    def on_validation_epoch_start(self):
        {eval}

    def train_step(self, batch):
        x, y = to_device(batch)
        self.optimizer.zero_grad()
        loss = self.loss(self.network(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def validation_step(self, batch):
        x, y = to_device(batch)
        out = self.network(x)  # {mark}
        return {{"loss": self.loss(out, y).detach().cpu().numpy()}}

    def run_training(self, train_loader, val_loader):
        for epoch in range(100):
            self.on_train_epoch_start()
            for batch in train_loader:
                self.train_step(batch)
            with torch.no_grad():
                self.on_validation_epoch_start()
                for batch in val_loader:
                    self.validation_step(batch)
"""


@pytest.mark.parametrize(
    ("bases", "train", "evaluate", "mark"),
    [
        ("object", "self.network.train()", "self.network.eval()", "fine"),
        ("Runner", "pass", "pass", "fine"),
        ("object", "self.set_mode('train')", "self.set_mode('eval')", "fine"),
        ("object", "pass", "self.eval_on(self.network)", "fine"),
        ("object", "pass", "pass", "ML101"),
    ],
    ids=["switched", "a base class may switch it", "a method may switch it", "a helper may switch it", "nobody does"],
)
def test_a_model_from_a_factory_out_of_sight_that_a_class_trains_and_validates(
    bases: str, train: str, evaluate: str, mark: str, lint: Lint
) -> None:
    """In whatever mode the factory left it: that mode is wrong for one of the two."""
    head = "from engine import Runner\n" if bases == "Runner" else ""
    lint(head + TRAINER.format(bases=bases, train=train, eval=evaluate, mark=mark), rules=["ML101"])


SLIDE = """
import numpy as np
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

    def {name}(self, windows, report, criterion):
        rows = []
        for window in windows:
            x = torch.tensor(window)
            {switch}
                y = self(x)  # {mark}
            rows.append(report({cut}))
            {more}
        return np.vstack(rows)
"""


@pytest.mark.parametrize(
    ("name", "switch", "more", "mark"),
    [
        ("slide", "with torch.no_grad():", "pass", "fine"),
        ("slide", "if True:", "criterion(y, x)", "fine"),
        ("slide", "if True:", "yield y", "fine"),
        ("slide", "if True:", "rows.append(y)", "fine"),
        ("slide", "if True:", "self.last = y", "fine"),
        ("slide", "if True:", "self.last = y.detach()", "ML201"),
        ("slide", "if True:", "y.mean().backward()", "fine"),
        ("train_epoch", "if True:", "pass", "fine"),
        ("slide", "if True:", "pass", "ML201"),
    ],
    ids=[
        "under no_grad",
        "goes elsewhere with its graph",
        "is yielded",
        "is collected",
        "is kept",
        "is kept without its graph",
        "is trained",
        "a part of training",
        "detached",
    ],
)
def test_all_that_is_wanted_of_a_forward_is_detached(name: str, switch: str, more: str, mark: str, lint: Lint) -> None:
    cut = 'y.detach().to("cpu").numpy()'
    lint(SLIDE.format(name=name, switch=switch, cut=cut, more=more, mark=mark), rules=["ML201"])


@pytest.mark.parametrize(
    ("cut", "mark"),
    [
        ("y.mean(1).detach().numpy()", "fine"),
        ("y.softmax(1).detach().numpy()", "ML201"),
        ("torch.sigmoid(y.cpu()).data.numpy()", "ML201"),
        ("y.cpu().numpy()", "fine"),
        ("y.cpu().data.numpy()", "ML201"),
        ("y.squeeze(1).to('cpu').detach().numpy()", "ML201"),
        ("y.data.numpy().reshape(y.shape[0], -1)", "ML201"),
        ("(y.data, y.softmax(1))", "fine"),
    ],
)
def test_a_result_that_is_moved_and_then_detached(cut: str, mark: str, lint: Lint) -> None:
    program = SLIDE.format(name="slide", switch="if True:", cut=cut, more="pass", mark=mark)
    lint(program, rules=["ML201"])


CALLED = """
import torch
from tagger import Tagger

def main(windows, report):
    tagger = Tagger()
    with torch.no_grad():
        return tagger.slide(windows, report, None)
"""


def test_a_caller_switches_autograd_off_around_what_is_detached(lint: Lint) -> None:
    program = SLIDE.format(name="slide", switch="if True:", cut="y.detach().cpu()", more="pass", mark="fine")
    lint({"tagger.py": program, "main.py": CALLED}, rules=["ML201"])
