"""A model that is handed to somebody out of sight: all of its parts go with it, whichever had weights before."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PROGRAM = """
        import torch
        from torch import nn
        from training import fit

        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 3)

            def forward(self, x):
                return self.body(x)

        class Whole(nn.Module):
            def __init__(self, encoder, decoder):
                super().__init__()
                self.encoder = encoder
                self.decoder = decoder

            def forward(self, x):
                return self.decoder(self.encoder(x))

        def main(loader):
            encoder = Part()
            {ENCODER}
            whole = Whole(encoder, Part())
            {FIT}
            whole.eval()
            with torch.no_grad():
                for x in loader:
                    print(whole.decoder(x).argmax(1).tolist()){MARK}

        if __name__ == "__main__":
            main(torch.load("data.pt", weights_only=True))
"""
LOADED = "encoder.load_state_dict(torch.load('encoder.pt', weights_only=True))"


@pytest.mark.parametrize(
    ("encoder", "fit", "mark"),
    [
        ("pass", "fit(whole)", ""),
        (LOADED, "fit(whole)", ""),
        (LOADED, "fit(whole.parameters())", ""),
        ("pass", "fit(whole.encoder); fit(whole)", ""),
        (LOADED, "pass", "  # ML401"),
        (LOADED, "fit(whole.encoder)", "  # ML401"),
    ],
)
def test_all_parts_are_handed_over(lint: Lint, encoder: str, fit: str, mark: str) -> None:
    lint(PROGRAM.format(ENCODER=encoder, FIT=fit, MARK=mark), rules=["ML401"])
