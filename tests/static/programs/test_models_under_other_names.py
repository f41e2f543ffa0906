"""What is called a model where it is kept is one, whatever it was called where it came from."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

KEPT = """
    import torch

    class Agent:
        def __init__(self, {given}):
            {keep}

        def predict(self, state):
            return self.{name}.eval()(state).detach().cpu().numpy(){mark}
"""


@pytest.mark.parametrize(
    "keep",
    [
        "self.actor = parts['Actor'].to(device)",
        "self.actor = parts[0]",
        "self.actor = build(device)[0]",
        "first, self.actor = build(device)",
        "first, second = build(device); self.actor = second",
    ],
)
def test_what_an_attribute_calls_a_model_was_picked_from_something(lint: Lint, keep: str) -> None:
    lint(KEPT.format(given="parts, device", keep=keep, name="actor", mark="  # ML201"), rules=["ML201"])


@pytest.mark.parametrize(
    ("keep", "name"),
    [
        ("self.table = parts['Actor']", "table"),  # whatever it is
        ("self.actor = config['actor']", "actor"),  # an option: the name of one
    ],
)
def test_what_nobody_calls_a_model_is_none(lint: Lint, keep: str, name: str) -> None:
    lint(KEPT.format(given="parts, config", keep=keep, name=name, mark=""), rules=["ML101"])


RUN = """
    import torch

    class Voice:
        def __init__(self):
            self.{name} = {{}}

        def load(self, path):
            self.{name}["vocoder"] = torch.jit.load(path).eval()

        def infer(self, mel):
            {switch}
                wave = self.{name}["vocoder"](mel){mark}
            return wave.detach().cpu().numpy()
"""


@pytest.mark.parametrize(
    ("name", "switch", "mark"),
    [("nets", "with torch.no_grad():", ""), ("hooks", "if True:", ""), ("nets", "if True:", "  # ML201")],
)
def test_a_dict_of_models_that_another_method_fills(lint: Lint, name: str, switch: str, mark: str) -> None:
    lint(RUN.format(name=name, switch=switch, mark=mark), rules=["ML201"], possible=True)


ENSEMBLE = """
    import torch

    class Ensemble:
        def __init__(self):
            self.members = None

        def predict(self, x):
            {switch}
                {loop}
            return votes
"""
LOOPS = [
    "votes = [net.eval()(x).detach().numpy() for net in self.members]{mark}",
    "votes = [net.eval()(x).detach().numpy() for _, net in self.members.items()]{mark}",
    "votes = [net.eval()(part).detach().numpy() for part in x for net in self.members]{mark}",
    "votes = []\n                for net in self.members: votes.append(net.eval()(x).detach().numpy()){mark}",
]


@pytest.mark.parametrize("loop", LOOPS)
def test_turns_of_a_loop_over_something_unknown(lint: Lint, loop: str) -> None:
    off = ENSEMBLE.format(switch="with torch.no_grad():", loop=loop.format(mark=""))
    lint(off, rules=["ML201"], possible=True)
    other = ENSEMBLE.format(switch="if True:", loop=loop.format(mark="")).replace("net", "rule")
    lint(other, rules=["ML201"], possible=True)
    lint(ENSEMBLE.format(switch="if True:", loop=loop.format(mark="  # ML201")), rules=["ML201"])


FORWARD = """
    import torch

    def show({name}, points):
        {switch}
            field = {name}.forward(points).cpu().detach().reshape(8, 8){mark}
        print(field)
"""


@pytest.mark.parametrize(
    ("name", "switch", "mark"),
    [
        ("pinn", "with torch.no_grad():", ""),
        ("mse_loss", "if True:", ""),
        ("lr_scheduler", "if True:", ""),
        ("pinn", "if True:", "  # ML201"),
    ],
)
def test_what_has_a_forward_is_a_module(lint: Lint, name: str, switch: str, mark: str) -> None:
    lint(FORWARD.format(name=name, switch=switch, mark=mark), rules=["ML201"])


REGISTRY = """
    import torch
    from models import REGISTRY, find

    def evaluate(config, loader, trainer):
        model = {found}.load_from_checkpoint(config.path)
        {switch}
        with torch.no_grad():
            for x in loader:
                print(model(x).argmax(1)){mark}
"""


@pytest.mark.parametrize(
    ("found", "switch", "mark"),
    [
        ("REGISTRY[config.name]", "model.eval()", ""),
        ("trainer", "pass", ""),  # whatever that returns
        ("REGISTRY[config.name]", "pass", "  # ML101"),
        ("find(config.name)", "pass", "  # ML101"),
    ],
)
def test_a_class_out_of_sight_loads_as_any_does(lint: Lint, found: str, switch: str, mark: str) -> None:
    lint(REGISTRY.format(found=found, switch=switch, mark=mark), rules=["ML101"])
