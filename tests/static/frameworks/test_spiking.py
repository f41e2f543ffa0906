"""Spiking networks: a neuron follows no mode, though one may pick its surrogate gradient; dropout and norms do."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

CLASSIFIER = """
    import torch
    from torch import nn
    {imports}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 3)
            self.part = {part}

        def forward(self, x):
            return self.part(self.fc(x))

    def predict(x):
        net = Net()
        net.load_state_dict(torch.load("net.pt", weights_only=True))
        with torch.no_grad():
            return net(x).argmax(-1)  # {mark}
    """
NEURONS = """
    from torch import nn

    class Neuron(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Linear(3, 3)

        def forward(self, x):
            if self.training{beside}:
                {branch}
            {picked} = steep if self.training else flat
            assert not self.training or x is not None
            return (self.scale(x) > 1).float()
    """
OWN = "from neurons import Neuron"


def mine(**parts: str) -> dict[str, str]:
    """Return a network with a neuron of its own."""
    mark = parts.pop("mark")
    return {
        "app.py": CLASSIFIER.format(imports=OWN, part="Neuron()", mark=mark),
        "neurons.py": NEURONS.format(**{"beside": "", "branch": "raise ValueError(x)", "picked": "surrogate"} | parts),
    }


@pytest.mark.parametrize(
    "files",
    [
        CLASSIFIER.format(imports="import snntorch as snn", part="snn.Leaky(beta=0.9)", mark="ML101:info"),
        CLASSIFIER.format(
            imports="from spikingjelly.activation_based import neuron", part="neuron.IFNode()", mark="ML101:info"
        ),
        CLASSIFIER.format(
            imports="from spikingjelly.clock_driven import layer, neuron",
            part="nn.Sequential(layer.Linear(3, 3), neuron.LIFNode(tau=2.0))",
            mark="ML101:info",
        ),
        mine(mark="ML101:info"),
        mine(beside=" and x is None", mark="ML101:info"),
    ],
)
def test_nothing_depends_on_the_mode(lint: Lint, files: str | dict[str, str]) -> None:
    lint(files, rules=["ML101"])


@pytest.mark.parametrize(
    "files",
    [
        CLASSIFIER.format(
            imports="from spikingjelly.activation_based import layer", part="layer.Dropout(0.5)", mark="ML101:error"
        ),
        CLASSIFIER.format(
            imports="from spikingjelly.activation_based import layer", part="layer.BatchNorm2d(3)", mark="ML101:error"
        ),
        mine(picked="threshold", mark="ML101:error"),
        mine(branch="return x", mark="ML101:error"),
        mine(branch="raise ValueError(x)\n            else:\n                x = x + 1", mark="ML101:error"),
        mine(
            branch="raise ValueError(x)\n\n            def slope():\n                return self.training\n",
            mark="ML101:error",
        ),
    ],
)
def test_something_depends_on_the_mode(lint: Lint, files: str | dict[str, str]) -> None:
    lint(files, rules=["ML101"])
