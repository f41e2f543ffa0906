"""Loaders over one sample, which has no order, and over what only looks like one."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

PROGRAM = """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Subset, TensorDataset

        def encode(text):
            return [ord(letter) for letter in text]

        def wrapped(text):
            return torch.tensor([encode(text)])

        def predict(net, text, other, texts, image):
            net.eval()
            {DATA}
            loader = DataLoader(data, batch_size=1, shuffle=True){MARK}
            with torch.no_grad():
                for x in loader:
                    print(net(x)[0].item())
"""


def program(data: str, mark: str = "") -> str:
    return PROGRAM.replace("{DATA}", data).replace("{MARK}", mark)


@pytest.mark.parametrize(
    "data",
    [
        "words = np.array([encode(text)]); data = torch.from_numpy(words)",
        "data = torch.tensor([encode(text)]).long()",
        "data = [encode(text)]",
        "data = TensorDataset(torch.as_tensor([encode(text)]).to('cuda'))",
        "data = wrapped(text)",
        "data = image.unsqueeze(0)",
        "data = torch.unsqueeze(image, 0)",
        "data = torch.stack([image])",
        "data = Subset(texts, [3])",
    ],
)
def test_one_sample(lint: Lint, data: str) -> None:
    lint(program(data), rules=["ML306"])


@pytest.mark.parametrize(
    "data",
    [
        "words = np.array([encode(text), encode(other)]); data = torch.from_numpy(words)",
        "data = torch.tensor(encode(text))",
        "data = [*texts]",
        "data = [text]; data.append(other)",
        "data = [text]; data.extend(texts)",
        "data = image.unsqueeze(1)",
        "data = image.unsqueeze(dim=texts)",
        "data = Subset(texts, [3, 4])",
        "data = Subset([texts], texts)",
        "data = texts",
        "data = [text] if other else [text, other]",
    ],
)
def test_more_than_one(lint: Lint, data: str) -> None:
    lint(program(data, "  # ML306"), rules=["ML306"])
