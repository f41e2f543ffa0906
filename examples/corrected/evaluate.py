"""Accuracy of the trained classifier on recordings of its own: python evaluate.py"""

from __future__ import annotations

from pathlib import Path

import torch

from bearings.model import FaultNet
from bearings.signals import CLASSES, recordings

ARTIFACTS = Path(__file__).parent / "artifacts"


def evaluate(checkpoint: Path) -> dict[str, float]:
    """Return the share of each class that the model in `checkpoint` names rightly."""
    model = FaultNet()
    model.load_state_dict(torch.load(checkpoint, weights_only=True))
    model.eval()
    signals, labels = recordings(each=64, seed=4)
    with torch.no_grad():
        logits = model(signals)
    right = logits.argmax(dim=1) == labels
    return {name: right[labels == index].float().mean().item() for index, name in enumerate(CLASSES)}


if __name__ == "__main__":
    for fault, share in evaluate(ARTIFACTS / "faultnet.pt").items():
        print(f"{fault:<12}{share:.2f}")
