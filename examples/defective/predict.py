"""Name the fault in every recording of a file: python predict.py [recordings.pt]"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from bearings.model import FaultNet
from bearings.signals import CLASSES

ARTIFACTS = Path(__file__).parent / "artifacts"


def main(recordings: Path) -> None:
    """Print one line a recording: its number, the most probable fault, the probability."""
    model = FaultNet()
    model.load_state_dict(torch.load(ARTIFACTS / "faultnet.pt"))

    signals = torch.load(recordings, weights_only=True)["signals"]
    probabilities = model(signals).softmax(dim=1)
    for number, row in enumerate(probabilities, 1):
        best = int(row.argmax())
        print(f"recording {number}: {CLASSES[best]:<12}{row[best]:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ARTIFACTS / "recordings.pt")
