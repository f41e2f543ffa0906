"""What lists carry into functions, what generators switch for the loops over them, and what a part's weights are."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

GENERATOR = """
        import torch

        def batches(data):
            with {SWITCH}:
                for x in data:
                    yield torch.as_tensor(x)

        class Runner:
            def __init__(self, net):
                self.net = net

            def transform(self, data):
                self.net.eval()
                out = []
                for x in batches(data):
                    out.append(self.net(x).cpu().numpy()){MARK}
                return out

            def count(self, data):
                self.net.eval()
                for x in batches(data):
                    print(x.shape)
                return self.net(data).cpu().numpy(){BEHIND}
"""


def test_a_generator_switches_autograd_off_for_the_loop_over_it(lint: Lint) -> None:
    lint(GENERATOR.format(SWITCH="torch.no_grad()", MARK="", BEHIND="  # ML201"), rules=["ML201"])


def test_a_generator_that_switches_nothing(lint: Lint) -> None:
    lint(GENERATOR.format(SWITCH="open(data)", MARK="  # ML201", BEHIND="  # ML201"), rules=["ML201"])


LISTED = (
    NET
    + """
        def vote(found):
            return torch.stack(found).{END}

        def predict(path, batches, optimizer):
            net = Net()
            net.load_state_dict(torch.load(path, weights_only=True))
            net.eval()
            found = []
            found.append(net(batches[0])){MARK}
            {USE}
"""
)


@pytest.mark.parametrize(
    ("end", "use", "mark"),
    [
        ("mean()", "vote(found).backward(); optimizer.step()", ""),
        ("argmax(-1).tolist()", "return vote(found)", "  # ML201"),
        ("mean()", "print(vote(found).item())", "  # ML201"),
    ],
)
def test_what_a_list_holds_goes_with_it_into_a_function(lint: Lint, end: str, use: str, mark: str) -> None:
    lint(LISTED.format(END=end, USE=use, MARK=mark), rules=["ML201"])


BODY = """
        import torch
        from torch import nn
        from timm import create_model

        class Tagger(nn.Module):
            def __init__(self, name, load=True):
                super().__init__()
                self.body = create_model(name)
                {MORE}
                if load:
                    self.restore("body.pt")

            def restore(self, path):
                {RESTORE}

            def forward(self, x):
                return self.body(x)

        def tag(name, x):
            net = Tagger(name)
            {READY}
            with torch.no_grad():
                return net(x).argmax(-1).tolist(){MARK}
"""
RESTORED = "self.body.load_state_dict(torch.load(path, weights_only=True))"


@pytest.mark.parametrize(
    ("more", "restore", "ready", "mark"),
    [
        ("pass", RESTORED, "net.eval()", ""),
        ("pass", RESTORED, "pass", "  # ML101"),
        ("self.act = nn.ReLU()", RESTORED, "pass", "  # ML101"),
    ],
)
def test_weights_of_the_only_part_are_those_of_the_whole(
    lint: Lint, more: str, restore: str, ready: str, mark: str
) -> None:
    lint(BODY.format(MORE=more, RESTORE=restore, READY=ready, MARK=mark), rules=["ML101"])


MAYBE = (
    NET
    + """
        def set_mode(mode, models):
            for m in models:
                if m is None:
                    continue
                if mode == "train":
                    m.train()
                if mode == "eval":
                    m.eval()

        def check(first, second, loader):
            set_mode("eval", [first, second])
            with torch.no_grad():
                right = sum((first(x).argmax(1) == y).sum().item() for x, y in loader)
            set_mode("{THEN}", [first, second])
            return right

        def main(kind, loader, held_out, optimizer):
            first, second = Net(), None
            if kind == "two":
                second = Net()
            for step, (x, y) in enumerate(loader):
                nn.functional.cross_entropy(first(x), y).backward(){MARK}
                optimizer.step()
                if step % 10 == 0:
                    print(check(first, second, held_out))
"""
)


@pytest.mark.parametrize(("then", "mark"), [("train", ""), ("eval", "  # ML103")])
def test_models_in_a_list_that_may_be_none(lint: Lint, then: str, mark: str) -> None:
    lint(MAYBE.format(THEN=then, MARK=mark), rules=["ML103"])
