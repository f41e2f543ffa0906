"""Parameters that require no gradients record nothing: a class, or a method out of sight, has seen to it."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

AGENT = """
import torch
from torch import nn

class Actor(nn.Module):
    def __init__(self, network):
        super().__init__()
        self._network = network

    def forward(self, seen):
        return self._network(seen)

class Agent:
    def __init__(self, network):
        self._network = network

    def build(self, training):
        self._actor = Actor(self._network).train(training)
        if training:
            self._optimizer = torch.optim.Adam(self._actor.parameters())
        else:
            for p in {PART}.parameters():
                {FREEZES}

    def update(self, batch):
        loss = ((self._actor(batch.seen) - batch.actions) ** 2).mean()
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()

    def act(self, observation):
        with torch.no_grad():
            goal = observation.mean()
        mu = self._actor(observation - goal){MARK}
        return mu[0].detach().cpu()
"""


@pytest.mark.parametrize(
    ("part", "freezes", "mark"),
    [
        ("self._actor", "p.requires_grad = False", ""),
        ("self._actor", "p.requires_grad_(False)", ""),
        ("self._network", "p.requires_grad = False", "  # ML201"),
        ("self._actor", "print(p.shape)", "  # ML201"),
    ],
)
def test_unless_it_is_to_train(lint: Lint, part: str, freezes: str, mark: str) -> None:
    lint(AGENT.replace("{PART}", part).replace("{FREEZES}", freezes).replace("{MARK}", mark), rules=["ML201"])


EXTRACTS = {
    "lib.py": """
    from torch import nn

    class Base(nn.Module):
        def freeze_trunk(self):
            for p in self.trunk.parameters():
                p.requires_grad = False

        def freeze_all(self):
            self.freeze_trunk()

        def freeze_trunk_and_head(self):
            self.freeze_trunk()

        def freeze_graph(self):
            self.traced = True
    """,
    "run.py": """
    import sys
    from lib import registry

    def extract(model, images):
        kept = []
        for image in images:
            kept.append(model(image)[0].cpu().detach().numpy()){MARK}
        return kept

    def main(name, images):
        model = registry[name](name)
        model.eval()
        {CALLS}
        print(extract(model, images))

    if __name__ == "__main__":
        main(sys.argv[1], [])
    """,
}


@pytest.mark.parametrize(
    ("calls", "mark"),
    [
        ("model.freeze_all()", ""),
        ("model.freeze_trunk_and_head()", ""),
        ("model.freeze_trunk()", "  # ML201"),
        ("model.freeze_graph()", "  # ML201"),
        ("name.freeze_all()", "  # ML201"),
        ("model.prepare()", "  # ML201"),
    ],
)
def test_asked_to_freeze_itself(lint: Lint, calls: str, mark: str) -> None:
    files = {name: text.replace("{CALLS}", calls).replace("{MARK}", mark) for name, text in EXTRACTS.items()}
    lint(files, rules=["ML201"])


MATCHER = """
import torch
from torch import nn

class Matcher(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.load_state_dict(torch.load(path, weights_only=True))

    def forward(self, x):
        return {WHOLE}

    def predict_depth(self, x):
        return self.body(x).argmax(-1){MARK}
"""


@pytest.mark.parametrize(("whole", "mark"), [("self.predict_depth(x)", ""), ("self.body(x)", "  # ML201")])
def test_a_part_of_a_forward(lint: Lint, whole: str, mark: str) -> None:
    lint(MATCHER.replace("{WHOLE}", whole).replace("{MARK}", mark), rules=["ML201"])


GUIDED = {
    "guide.py": """
    import torch
    from torch import nn
    from classifier import load_classifier

    class Guide(nn.Module):
        def __init__(self):
            super().__init__()
            self.classifier = load_classifier()
            self.classifier.eval()

        def forward(self, x, energy):
            return energy + {WHOLE}

        def _predicted(self, x):
            self.classifier.eval()
            scores = self.classifier(x){MARK}
            print(scores.argmax(-1).tolist())
            return scores.softmax(-1)[:, 0].sum()
    """,
    "classifier.py": """
    import torch
    from torchvision.models import resnet18

    def load_classifier():
        return resnet18(weights="DEFAULT")
    """,
    "sampler.py": """
    import torch

    def step(guide, x):
        with torch.{SWITCH}():
            x.requires_grad = True
            guide(x, 0).{ENDS}()
        return x.grad
    """,
}


@pytest.mark.parametrize(
    ("whole", "switch", "ends", "mark"),
    [
        ("self._predicted(x)", "enable_grad", "backward", ""),
        ("self._predicted(x)", "no_grad", "item", "  # ML201"),
        ("self._predicted(x)", "enable_grad", "item", "  # ML201"),
        ("x.sum()", "enable_grad", "backward", "  # ML201"),
    ],
)
def test_a_forward_that_others_differentiate(lint: Lint, whole: str, switch: str, ends: str, mark: str) -> None:
    words = {"{WHOLE}": whole, "{SWITCH}": switch, "{ENDS}": ends, "{MARK}": mark}
    files = dict(GUIDED)
    for word, by in words.items():
        files = {name: text.replace(word, by) for name, text in files.items()}
    lint(files, rules=["ML201"], check=["guide.py"])
