"""Options that functions hand down to a network, networks that go into containers, and objects that set things up."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

DOWN = """
        import argparse
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, width, dropout=0.0):
                super().__init__()
                self.body = nn.Linear(width, width)
                self.drop = nn.Dropout(p=dropout)

            def forward(self, x):
                return self.drop(self.body(x))

        class Topics:
            def __init__(self, width, dropout=0.0):
                self.net = Net(width, {KEPT})

            def predict(self, x):
                with torch.no_grad():
                    return self.net(x).argmax(1){MARK}

        parser = argparse.ArgumentParser()
        parser.add_argument("--dropout", type=float{DEFAULT})
        parser.add_argument("--no-dropout", action="store_true")
        parser.add_argument("width", type=int)
        args = parser.parse_args()
        topics = Topics({GIVEN})
        topics.net.load_state_dict(torch.load("net.pt", weights_only=True))
        print(topics.predict(torch.zeros(2, 3)).tolist())
"""


def down(given: str, kept: str = "dropout", default: str = ", default=0.4", mark: str = "") -> str:
    program = DOWN.replace("{GIVEN}", given).replace("{KEPT}", kept).replace("{DEFAULT}", default)
    return program.replace("{MARK}", mark)


@pytest.mark.parametrize(
    ("given", "default", "mark"),
    [
        ("3", ", default=0.4", "  # ML101:info"),
        ("3, 0.0", ", default=0.4", "  # ML101:info"),
        ("3, args.dropout", ", default=0.0", ""),
        ("3, args.dropout", "", ""),
        ("3, args.no_dropout", ", default=0.4", ""),
    ],
)
def test_a_chance_that_is_zero_by_default_is_no_dropout(lint: Lint, given: str, default: str, mark: str) -> None:
    lint(down(given, default=default, mark=mark), rules=["ML101"])


@pytest.mark.parametrize("given", ["3, args.dropout", "3, dropout=args.dropout", "3, 0.1"])
@pytest.mark.parametrize("kept", ["dropout", "dropout=dropout"])
def test_a_chance_is_handed_down_through_constructors(lint: Lint, given: str, kept: str) -> None:
    lint(down(given, kept, mark="  # ML101"), rules=["ML101"])


@pytest.mark.parametrize(
    ("given", "default"),
    [
        ("3, args.dropout", ", required=True"),
        ("3, args.dropout", ', required=False, default="0.0"'),
        ("3, dropout=chances.dropout", ", default=0.4"),
        ("3, args.dropout * args.width", ", default=0.4"),
        ("*args.sizes", ", default=0.4"),
    ],
)
def test_a_chance_that_nobody_in_sight_gives_tells_nothing(lint: Lint, given: str, default: str) -> None:
    lint(down(given, default=default), rules=["ML101"])


CONTAINER = """
        import torch
        import torchvision
        from torch import nn

        backbone = torchvision.models.{NAME}(){READY}
        model = {BUILT}
        {FILLED}
        model.load_state_dict(torch.load("net.pt", weights_only=True))

        with torch.no_grad():
            print(model(torch.zeros(1, 3, 64, 64)).argmax(1).tolist()){MARK}
"""
BUILT = "nn.Sequential(backbone, nn.Linear(1000, 3))"


def container(name: str = "resnet18", built: str = BUILT, filled: str = "", ready: str = "", mark: str = "") -> str:
    program = CONTAINER.replace("{NAME}", name).replace("{BUILT}", built).replace("{FILLED}", filled)
    return program.replace("{READY}", ready).replace("{MARK}", mark)


FILLED = ("nn.Sequential(nn.Identity())", 'model.add_module("body", backbone)')


def test_a_container_of_a_network_that_is_ready(lint: Lint) -> None:
    lint(container(ready=".eval()"), rules=["ML101"])
    lint(container(built=BUILT + ".eval()"), rules=["ML101"])


@pytest.mark.parametrize(("built", "filled"), [(BUILT, ""), FILLED])
@pytest.mark.parametrize("name", ["resnet18", "vit_b_16"])
def test_a_container_has_the_mode_of_the_network_in_it(lint: Lint, name: str, built: str, filled: str) -> None:
    lint(container(name, built, filled, mark="  # ML101"), rules=["ML101"])


SERVICE = (
    NET
    + """
        class Service:
            def __init__(self, path):
                self.net = Net()
                self.net.load_state_dict(torch.load(path, weights_only=True))
                {BEGUN}

            @property
            def serving(self):
                return not self.net.training

            @serving.setter
            def serving(self, on):
                self.net.train({MODE})

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(1){MARK}
"""
)


@pytest.mark.parametrize(
    ("begun", "mode", "mark"),
    [
        ("self.serving = True", "not on", ""),
        ("self.serving = False", "not on", "  # ML101"),
        ("self.served = True", "not on", "  # ML101"),
        ("self.serving = False", "on", ""),
    ],
)
def test_what_is_assigned_to_a_property_goes_through_its_setter(lint: Lint, begun: str, mode: str, mark: str) -> None:
    lint(SERVICE.replace("{BEGUN}", begun).replace("{MODE}", mode).replace("{MARK}", mark))


TAGGER = (
    NET
    + """
        class Tagger:
            def __init__(self, path):
                self.net = Net()
                self.net.load_state_dict(torch.load(path, weights_only=True))
                {BEGUN}

            def prepare(self{GIVEN}):
                self.net.eval()

        class Half(Tagger):
            def prepare(self{GIVEN}):
                {OWN}

            @torch.no_grad()
            def tag(self, x):
                return self.net(x).argmax(1){MARK}
"""
)


def tagger(own: str, mark: str, begun: str = "self.prepare()", given: str = "") -> str:
    program = TAGGER.replace("{OWN}", own).replace("{BEGUN}", begun).replace("{GIVEN}", given)
    return program.replace("{MARK}", mark)


def test_an_override_that_readies_the_network(lint: Lint) -> None:
    lint(tagger("self.net.half().eval()", ""))
    lint(tagger("super().prepare()\n                self.net.half()", ""))


def test_callers_may_ready_the_network_later(lint: Lint) -> None:
    lint(tagger("super().prepare()", "", begun="self.path = path"))
    lint(tagger("super().prepare(now)", "", begun="self.net.train()", given=", now"))


def test_an_override_that_leaves_the_network_as_it_is(lint: Lint) -> None:
    lint(tagger("self.net.half()", "  # ML101"))


REQUEST = (
    NET
    + """
        from flask import g

        def network():
            if "net" not in g:
                g.net = Net(){READY}
                g.net.load_state_dict(torch.load("net.pt", weights_only=True))
            return g.net

        def classify(x):
            with torch.inference_mode():
                return network()(x).argmax(1).tolist(){MARK}
"""
)


@pytest.mark.parametrize(("ready", "mark"), [(".eval()", ""), ("", "  # ML101")])
def test_what_is_put_on_an_object_of_a_library(lint: Lint, ready: str, mark: str) -> None:
    lint(REQUEST.replace("{READY}", ready).replace("{MARK}", mark))


RANDOM = {
    "nets.py": NET
    + """
        def blank():
            {BUILD}
""",
    "report.py": """
        import torch
        from nets import blank

        def refresh(rows, more):
            rows.update(more)

        @torch.no_grad()
        def predict(x):
            net = blank(){READY}.eval()
            return net(x).argmax(1).tolist(){MARK}
""",
}


def random(build: str, ready: str = "", mark: str = "") -> dict[str, str]:
    nets, report = RANDOM["nets.py"].replace("{BUILD}", build), RANDOM["report.py"].replace("{READY}", ready)
    return {"nets.py": nets, "report.py": report.replace("{MARK}", mark)}


@pytest.mark.parametrize("build", ["return Net()", "net = Net()\n            return net"])
def test_what_a_function_builds_each_time_has_random_weights(lint: Lint, build: str) -> None:
    lint(random(build, mark="  # ML401"), rules=["ML401"])


@pytest.mark.parametrize(
    "build",
    [
        'net = Net()\n            net.load_state_dict(torch.load("net.pt"))\n            return net',
        "global KEPT\n            KEPT = Net()\n            return KEPT",
    ],
)
def test_what_a_function_loads_or_keeps_has_not(lint: Lint, build: str) -> None:
    lint(random(build), rules=["ML401"])


TOTALS = (
    NET
    + """
        class Trainer:
            def __init__(self, loader):
                self.net = Net()
                self.optimizer = torch.optim.Adam(self.net.parameters())
                self.loader, self.total, self.stats = loader, 0.0, {"loss": 0.0}

            def fit(self):
                for x, y in self.loader:
                    self.optimizer.zero_grad()
                    {TURN}
                    self.optimizer.step()
                print(self.total, self.stats)
"""
)
LOSS = "loss = nn.functional.mse_loss(self.net(x), y)\n                    "


@pytest.mark.parametrize(
    "turn",
    [
        LOSS + "loss.backward()\n                    self.total += loss.item()",
        LOSS + 'loss.backward()\n                    self.stats["loss"] += loss.detach()',
        LOSS + "self.total = 0.0\n                    self.total += loss\n                    self.total.backward()",
        LOSS + "self.total = loss\n                    self.total += loss\n                    self.total.backward()",
    ],
)
def test_an_attribute_adds_up_numbers(lint: Lint, turn: str) -> None:
    lint(TOTALS.replace("{TURN}", turn), rules=["ML204"])


@pytest.mark.parametrize("total", ["self.total", 'self.stats["loss"]'])
def test_an_attribute_adds_up_losses_with_their_graphs(lint: Lint, total: str) -> None:
    turn = LOSS + f"loss.backward()\n                    {total} += loss  # ML204"
    lint(TOTALS.replace("{TURN}", turn), rules=["ML204"])


COMMENTED = (
    NET
    + """
        def predict(x):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            # {COMMENT}
            with torch.no_grad():
                return net(x).argmax(1).tolist(){MARK}
"""
)


@pytest.mark.parametrize(
    "comment", ["keep dropout on: we want samples", "don't call eval() here", "experiment with and without eval() mode"]
)
def test_a_comment_that_says_the_mode_is_meant(lint: Lint, comment: str) -> None:
    lint(COMMENTED.replace("{COMMENT}", comment).replace("{MARK}", ""))


@pytest.mark.parametrize(
    "comment", ["the loader left dropout on", "loaded without eval()", "it keeps the training mode of the loop above"]
)
def test_a_comment_that_says_what_was_forgotten(lint: Lint, comment: str) -> None:
    lint(COMMENTED.replace("{COMMENT}", comment).replace("{MARK}", "  # ML101"))
