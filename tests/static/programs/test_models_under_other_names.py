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
    silent = ENSEMBLE.format(switch="if True:", loop=loop.format(mark=""))
    lint(silent.replace("net", "rule"), rules=["ML201"], possible=True)
    lint(silent.replace("in self.members", "in self.members()"), rules=["ML201"], possible=True)  # what is handed out
    lint(ENSEMBLE.format(switch="if True:", loop=loop.format(mark="  # ML201")), rules=["ML201"])


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
        ("find(config.name)", "pass", ""),  # an object or a class, of whatever kind
        ("REGISTRY[config.name]", "pass", "  # ML101"),
        ("trainer.model_class", "pass", "  # ML101"),
        ("REGISTRY[config.name]; model = model", "pass", "  # ML101"),
    ],
)
def test_a_class_out_of_sight_loads_as_any_does(lint: Lint, found: str, switch: str, mark: str) -> None:
    lint(REGISTRY.format(found=found, switch=switch, mark=mark), rules=["ML101"])


APART = """
    import torch

    def label(models, loader):
        models["teacher"].eval()
        models["student"].train()
        with torch.no_grad():
            return [models["teacher"](x).argmax(1).cpu() for x in loader]
"""


def test_elements_of_one_table_are_kept_apart(lint: Lint) -> None:
    lint(APART, rules=["ML101"])
