"""Who calls a library in its own examples is not who it is written for."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

LIBRARY = """
    import torch

    class Regressor:
        def __init__(self, module):
            self.module = module

        def predict_one(self, x):
            self.module.eval()
            with torch.no_grad():
                return self.module(x).item()

        def predict_many(self, x):
            with torch.no_grad():
                return self.module(x).tolist(){mark}
"""
USE = """
    from torch import nn
    from river.regressor import Regressor

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Sequential(nn.Linear(3, 1), {layer})

        def forward(self, x):
            return self.fc(x)

    net = Net()
    {ready}
    print(Regressor(net).predict_many(read("x.csv")))
"""


@pytest.mark.parametrize(
    ("place", "layer", "ready", "mark"),
    [
        ("river/app.py", "nn.ReLU()", "pass", ""),  # the library is for this program, whose network has no mode
        ("examples/app.py", "nn.Dropout()", "net.eval()", ""),  # it shows how: the caller readies the network
        ("examples/app.py", "nn.ReLU()", "pass", "  # ML101"),
        ("docs/tutorials/app.py", "nn.ReLU()", "pass", "  # ML101"),
        ("tests/test_app.py", "nn.ReLU()", "pass", "  # ML101"),
    ],
)
def test_an_example_with_a_network_without_a_mode(lint: Lint, place: str, layer: str, ready: str, mark: str) -> None:
    files = {
        "river/__init__.py": "",
        "river/regressor.py": LIBRARY.format(mark=mark),
        place: USE.format(layer=layer, ready=ready),
    }
    lint(files, check=["river/regressor.py"], rules=["ML101"])
