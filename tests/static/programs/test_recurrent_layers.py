"""Dropout between the layers of a recurrent network, of which there may be one alone."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

NETWORK = """
        from torch import nn

        class Decoder(nn.Module):
            def __init__(self, size, {TAKES}):
                super().__init__()
                self.gru = nn.GRU(size, size, {NUMBER}, dropout=dropout_p)

            def forward(self, x):
                return self.gru(x)[0]
"""
SCRIPT = """
        import torch
        from network import Decoder

        LAYERS = {LAYERS}

        def translate(x):
            decoder = Decoder({GIVEN})
            decoder.load_state_dict(torch.load("decoder.pt", weights_only=True))
            with torch.no_grad():
                return decoder(x).argmax(-1){MARK}
"""


def recurrent(
    given: str, takes: str = "n_layers=1, dropout_p=0.1", number: str = "n_layers", layers: int = 1, mark: str = ""
) -> dict[str, str]:
    script = SCRIPT.replace("{GIVEN}", given).replace("{LAYERS}", str(layers)).replace("{MARK}", mark)
    return {"network.py": NETWORK.replace("{TAKES}", takes).replace("{NUMBER}", number), "translate.py": script}


REMARK, ERROR = "  # ML101:info", "  # ML101:error"
FOUND: dict[str, Mapping[str, str]] = {
    "one layer by default": recurrent("8", mark=REMARK),
    "one layer, as a constant says": recurrent("8, LAYERS", mark=REMARK),
    "one layer, where more are the default": recurrent("8, 1", "n_layers=2, dropout_p=0.1", mark=REMARK),
    "one layer, written out": recurrent("8", "dropout_p=0.1", "1", mark=REMARK),
    "no dropout between two layers": recurrent("8, 2, 0.0", mark=REMARK),
    "two layers": recurrent("8, 2", mark=ERROR),
    "two layers, as a constant says": recurrent("8, n_layers=LAYERS", layers=2, mark=ERROR),
    "two layers by default": recurrent("8", "n_layers=2, dropout_p=0.1", mark=ERROR),
    "two layers, written out": recurrent("8", "dropout_p=0.1", "2", mark=ERROR),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=("ML101",))
