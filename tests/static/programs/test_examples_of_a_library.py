"""Who calls a library in its own examples is not who it is written for."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

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
    from net import Net
    from river.regressor import Regressor

    net = Net()
    {ready}
    print(Regressor(net).predict_many(read("x.csv")))
"""


@pytest.mark.parametrize(
    ("place", "layer", "ready", "mark"),
    [
        ("river/app.py", "nn.ReLU()", "pass", ""),  # the library is for this program, whose network has no mode
        ("examples/app.py", "nn.Dropout(0.1)", "net.eval()", ""),  # it shows how: the caller readies the network
        ("examples/app.py", "nn.ReLU()", "pass", "  # ML101"),
        ("docs/tutorials/app.py", "nn.ReLU()", "pass", "  # ML101"),
        ("tests/test_app.py", "nn.ReLU()", "pass", "  # ML101"),
    ],
)
def test_an_example_with_a_network_without_a_mode(lint: Lint, place: str, layer: str, ready: str, mark: str) -> None:
    files = {
        "river/__init__.py": "",
        "river/regressor.py": LIBRARY.format(mark=mark),
        "net.py": NET.replace("nn.Dropout(0.1)", layer),
        place: USE.format(ready=ready),
    }
    lint(files, check=["river/regressor.py"], rules=["ML101"])
