"""Objects that train a model in one method and use it in another: the correct code, then the defect."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RECOMMENDER = """
import functools
import torch
from torch import nn

def seeded(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        torch.manual_seed(self.seed)
        return function(self, *args, **kwargs)
    return wrapper

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(2, 2), nn.Dropout()

    def forward(self, x):
        return self.drop(self.fc(x))

class Recommender:
    def __init__(self, seed):
        self.seed = seed

    def run(self, model, loader, epochs):
        model.train()
        for _ in range(epochs):
            for x in loader:
                model(x).sum().backward()

    {decorator}
    def fit(self, loader):
        self.net = Net()
        given = {{"model": self.net, "loader": loader}}
        {fit}

    {decorator}
    def score(self, x):
        {ready}
        return self.net(x).{use}  # {mark}
"""
FITS = ["self.run(epochs=1, **given)", "self.run(epochs=1, **{'model': self.net, 'loader': loader})"]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("decorator", ["", "@seeded"])
def test_an_estimator_that_switches_both_is_right(lint: Lint, fit: str, decorator: str) -> None:
    ready = "self.net.eval(); torch.set_grad_enabled(False)"
    use = "detach().cpu().numpy()"
    lint(RECOMMENDER.format(fit=fit, decorator=decorator, ready=ready, use=use, mark=""), rules=["ML101", "ML201"])


@pytest.mark.parametrize("use", ["detach()", "relu()"])
def test_what_an_estimator_gives_as_a_tensor_may_be_trained_on(lint: Lint, use: str) -> None:
    lint(RECOMMENDER.format(fit=FITS[0], decorator="", ready="pass", use=use, mark=""), rules=["ML201"])


def test_a_dictionary_with_an_unknown_key_hands_nothing_over_for_certain(lint: Lint) -> None:
    """What is detached has a graph whatever was trained, where the project switches autograd off nowhere."""
    fit = "given[self.seed] = 1; self.run(epochs=1, **given)"
    code = RECOMMENDER.format(fit=fit, decorator="", ready="pass", use="detach().cpu().numpy()", mark="ML201")
    lint(code, rules=["ML101", "ML201"])


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("decorator", ["", "@seeded"])
def test_an_estimator_that_switches_neither(lint: Lint, fit: str, decorator: str) -> None:
    use = "detach().cpu().numpy()"
    code = RECOMMENDER.format(fit=fit, decorator=decorator, ready="pass", use=use, mark="ML101, ML201")
    lint(code, rules=["ML101", "ML201"])


FLOW = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(2, 2), nn.Dropout()

    def forward(self, x):
        return self.drop(self.fc(x))

class Flow:
    def __init__(self, loaders):
        self.net, self.loaders = Net(), loaders
        self.opt = torch.optim.Adam(self.net.parameters())

    def train(self):
        for _ in range(9):
            for x in self.loaders["train"]:
                {before}
                loss = self.emb.sum() + self.total
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()

    def test(self):
        self.total = 0
        with torch.no_grad():
            self.emb = self.net(self.loaders["test"])  # {mark}
        return self.emb.argmax(1).tolist()
"""


@pytest.mark.parametrize(
    "before",
    [
        "pass",
        "y = self.emb.mean(); self.emb = self.net(x) + y",
        "if x.any(): self.emb = self.net(x)",
        "self.emb += self.net(x)",
    ],
)
def test_what_another_method_finds_in_the_object_is_perhaps_its_target(lint: Lint, before: str) -> None:
    lint(FLOW.format(before=before, mark=""), rules=["ML101"])


@pytest.mark.parametrize(
    "before",
    [
        "self.emb = self.net(x)",
        "self.emb, self.total = self.net(x), 1",
        "with torch.enable_grad(): self.emb = self.net(x)",
    ],
)
def test_what_another_method_computes_anew_is_no_target(lint: Lint, before: str) -> None:
    lint(FLOW.format(before=before, mark="ML101"), rules=["ML101"])


SYSTEM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(2, 2), nn.Dropout()

    def forward(self, x):
        return self.drop(self.fc(x))

class System:
    def __init__(self, loaders, env):
        self.net, self.loaders, self.env = Net(), loaders, env

    def step(self, x, mode):
        out = self.net(x)  # {mark}
        if mode == "train":
            out.sum().backward()
        else:
            print(out.argmax(1).tolist())
        return out

    def fit(self):
        for x in self.loaders["train"]:
            self.step(x, "train")
        with torch.no_grad():
            for x in self.loaders["valid"]:
                {call}
"""


@pytest.mark.parametrize("call", ["self.net.eval(); self.step(x, 'valid')", "self.env.step(self.step(x, 'valid'))"])
def test_a_step_in_evaluation_mode_or_through_an_environment_is_right(lint: Lint, call: str) -> None:
    lint(SYSTEM.format(call=call, mark=""), rules=["ML101"])


def test_a_step_of_its_own_steps_through_no_environment(lint: Lint) -> None:
    code = SYSTEM.format(call="self.step(x, 'valid')  # ML101", mark="")
    lint(code, rules=["ML101"])


FITTED = """
def predict_survival({given}, x):
    {unpack}
    risks = net(x){cut}  # {mark}
    return curve({result})
"""


def test_what_is_not_for_numbers_is_left_alone(lint: Lint) -> None:
    result = "risks.detach().numpy(), risks"
    lint(FITTED.format(given="fitted", unpack="net, curve = fitted", cut="", result=result, mark=""), rules=["ML201"])


@pytest.mark.parametrize("unpack", ["net, curve = fitted", "call, curve = fitted; net = call", "net = fitted['cox']"])
def test_what_is_detached_at_once_is_never_differentiated(lint: Lint, unpack: str) -> None:
    lint(FITTED.format(given="fitted", unpack=unpack, cut=".detach()", result="risks", mark="ML201"), rules=["ML201"])


def test_a_model_that_is_unpacked(lint: Lint) -> None:
    code = FITTED.format(
        given="net", unpack="net, curve = net", cut=".detach().cpu().numpy()", result="risks", mark="ML201"
    )
    lint(code, rules=["ML201"])


BUILT = """
import importlib
import torch
from zoo import build

class Predictor:
    def __init__(self, path, labels):
        self.labels = open(labels).readlines()
        self.net = build(size=len({size}))
        self.net.load_state_dict(torch.load(path, weights_only=True))
        self.net.eval()

    def predict(self, x):
        {switch}
            return self.net(x).argmax(1).tolist()  # {mark}
"""


@pytest.mark.parametrize("size", ["self.labels", "[row.tolist() for row in self.labels]"])
@pytest.mark.parametrize(("switch", "mark"), [("with torch.no_grad():", ""), ("if True:", "ML201")])
def test_what_is_computed_from_no_forward_is_no_result_of_one(lint: Lint, size: str, switch: str, mark: str) -> None:
    lint(BUILT.format(size=size, switch=switch, mark=mark), rules=["ML201"])


def registry(fills: str) -> dict[str, str]:
    return {
        "models.py": f"""
            import importlib

            MODELS = {{}}

            def register(name):
                def enter(cls):
                    MODELS[name] = cls
                    return cls
                return enter

            def build(name):
                {fills}
                return MODELS[name]()
            """,
        "dropping.py": """
            from torch import nn
            from models import register

            @register("dropping")
            class Dropping(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc, self.drop = nn.Linear(2, 2), nn.Dropout()

                def forward(self, x):
                    return self.drop(self.fc(x))
            """,
    }


RUN = """
import torch
import dropping
from models import build

def evaluate(name, loader):
    net = build(name)
    net.load_state_dict(torch.load("net.pt", weights_only=True))
    with torch.no_grad():
        return [net(x).argmax(1).tolist() for x in loader]{mark}

evaluate(*make())
"""


def test_a_registry_that_imports_by_name_holds_more_than_is_in_sight(lint: Lint) -> None:
    files = registry('importlib.import_module(f"models.{name}")')
    finding = lint({**files, "run.py": RUN.format(mark="  # ML101")}, rules=["ML101"])[0]
    assert "Dropout" not in finding.message


def test_a_registry_that_the_imports_fill(lint: Lint) -> None:
    finding = lint({**registry("pass"), "run.py": RUN.format(mark="  # ML101")}, rules=["ML101"])[0]
    assert "Dropout in drop" in finding.message


STACKS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.stacks = [[self.make(kind) for _ in range(3)] for kind in kinds]

    def make(self, kind):
        block = blocks[kind]
        return block(4)

    def forward(self, x):
        {run}
        return x

    def predict(self, x):
        self.eval()
        y = self(x)  # {mark}
        return y.detach().numpy()
"""


@pytest.mark.parametrize("run", ["x = x + 1", "x = self.sizes[0][1](x) if x is None else x.sum()"])
def test_what_runs_no_part_has_nothing_to_differentiate(lint: Lint, run: str) -> None:
    lint(STACKS.format(run=run.replace("self.sizes[0][1]", "sizes[0][1]"), mark=""), rules=["ML201"])


def test_parts_in_lists_of_lists_are_parts(lint: Lint) -> None:
    lint(STACKS.format(run="x = self.stacks[0][1](x)", mark="ML201"), rules=["ML201"])


SYNTHESIZER = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(2, 2), nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(self.fc(x))

class Synthesizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator, self.critic = Net(), Net()

    def noise(self, count):
        {noise}

    def fit(self, loader):
        self.train()
        for x in loader:
            (self.critic(x) - self.critic(self(len(x)))).sum().backward()

    def generate(self, count):
        self.generator.eval()
        with torch.no_grad():
            return self(count).numpy()  # {mark}

    def forward(self, count):
        return self.generator(self.noise(count))

net = Synthesizer()
net.fit(make())
net.train()
print(net.generate(9))
"""


def test_a_method_that_runs_no_part_has_no_mode(lint: Lint) -> None:
    lint(SYNTHESIZER.format(noise="return torch.randn(count, 2)", mark=""), rules=["ML101"])


@pytest.mark.parametrize(
    "noise", ["return self.critic(torch.randn(count, 2))", "return torch.randn(count, 2) * self.training"]
)
def test_a_method_that_runs_another_part_or_asks_for_the_mode_has_one(lint: Lint, noise: str) -> None:
    lint(SYNTHESIZER.format(noise=noise, mark="ML101"), rules=["ML101"])
