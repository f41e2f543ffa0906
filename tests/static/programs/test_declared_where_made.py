"""What an annotation says of a model that something out of sight makes."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PLAY = """
        import torch
        from torch import nn
        from zoo import find_class

        class Plain(nn.Module):
            def __init__(self, width, norm):
                super().__init__()
                self.first = nn.Linear(8, width)
                self.norm = norm(width)

            def forward(self, x):
                return self.norm(self.first(x))

        class Other(Plain):
            def forward(self, x):
                return self.norm(self.first(x)).relu()

        class Dropping(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.first = nn.Linear(8, width)
                self.drop = nn.Dropout(0.1)

            def forward(self, x):
                return self.drop(self.first(x))

        class Base(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.first = nn.Linear(8, width)

            def forward(self, x):
                return self.body(self.first(x))

        class Heir(Base):
            def __init__(self, width):
                super().__init__(width)
                self.body = nn.BatchNorm1d(width)

        def play(config, path, loader):
            make = find_class(config.kind)
            net: NOTE = make(width=8, norm=find_class(config.norm))
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                for x in loader:
                    print(net(x).argmax(1)){MARK}
"""


@pytest.mark.parametrize("note", ["Plain", "Plain | Other", '"Plain"', "Other"])
def test_nothing_in_the_classes_that_are_named_tells_of_a_mode(lint: Lint, note: str) -> None:
    lint(PLAY.replace("NOTE", note).replace("{MARK}", ""))
    lint(PLAY.replace("NOTE", note).replace("{MARK}", "  # ML101"), possible=True)


@pytest.mark.parametrize(
    "note", ["Dropping", "Plain | Dropping", "Base", "nn.Module", "Plain | nn.Module", "Plain | Any"]
)
def test_one_of_them_or_an_heir_tells_or_may(lint: Lint, note: str) -> None:
    lint(PLAY.replace("NOTE", note).replace("{MARK}", "  # ML101"))
