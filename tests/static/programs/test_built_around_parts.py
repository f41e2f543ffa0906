"""A new module around parts of a model that is in evaluation mode: they keep their mode in torch's containers."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PROGRAM = """
        import torch
        from torch import nn

        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(3, 3), nn.Dropout())

            def forward(self, x):
                return self.body(x)

        class Chain(nn.Module):
            def __init__(self, parts):
                super().__init__()
                self.parts = nn.ModuleList(parts)

            def forward(self, x):
                for part in self.parts:
                    x = part(x)
                return x

        class Inverse(nn.Module):
            def __init__(self, part):
                super().__init__()
                self.part = part

            def forward(self, x):
                return -self.part(x)

        def create(path):
            flow = Chain([Layer(), Layer()])
            flow.load_state_dict(torch.load(path, weights_only=True))
            return flow

        def check(loader, path):
            flow = create(path)
            flow.{SWITCH}()
            identity = Chain([{GIVEN}])
            with torch.no_grad():
                for x, _ in loader:
                    print(identity(x).argmax(1).tolist()){MARK}
"""


@pytest.mark.parametrize(
    ("switch", "given", "mark"),
    [
        ("eval", "flow", ""),
        ("eval", "flow, Inverse(flow)", ""),
        ("train", "flow, Inverse(flow)", "  # ML101"),
        ("eval", "flow, Layer()", "  # ML101"),
        ("eval", "Layer(), Inverse(Layer())", "  # ML101"),
    ],
)
def test_parts_of_a_model_in_evaluation_mode(lint: Lint, switch: str, given: str, mark: str) -> None:
    lint(PROGRAM.format(SWITCH=switch, GIVEN=given, MARK=mark), rules=["ML101"])
