"""A model of one of several kinds: what one of them gives is a tensor, what the others give is taken apart."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PROGRAM = """
        import sys
        import torch
        from torch import nn
        from data import loader

        class Whole(nn.Module):
            def __init__(self, coder, head):
                super().__init__()
                self.coder = coder
                self.head = head

            def train_epoch(self, optimizer, criterion):
                self.train()
                for x, y in loader:
                    z = self.coder.encode(x)
                    z, extra = self.coder.draw(z)
                    loss = criterion(self.head(z), y) + extra
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    print(loss.item())

        class Plain(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Sequential(nn.Linear(3, 3), nn.Dropout())

            def encode(self, x):
                return self.encoder(x)

        class Variational(Plain):
            def __init__(self):
                super().__init__()
                self.mean = nn.Linear(3, 3)
                self.spread = nn.Linear(3, 3)

            def encode(self, x):
                x = self.encoder(x)
                return self.mean(x), self.spread(x)

            def draw(self, z):
                mean, spread = z
                z = self.mean(mean) + spread
                return z, spread.mean()

        class Flow(Variational):
            def draw(self, z):
                mean, spread = z
                z = self.mean(mean) * spread
                return z, spread.mean()

        model = Whole({CODER}, nn.Linear(3, 1))
        optimizer = torch.optim.Adam(model.parameters())
        model.train_epoch(optimizer, nn.MSELoss())
"""


@pytest.mark.parametrize("coder", ["Plain(), Variational()", "Plain(), Variational(), Flow()"])
def test_all_kinds_are_trained(lint: Lint, coder: str) -> None:
    lint(PROGRAM.format(CODER=f"[{coder}][int(sys.argv[1])]"))
