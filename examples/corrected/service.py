"""The classifier as a service: one JSON array of samples a line on stdin, one JSON answer a line on stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from bearings.anomaly import Autoencoder
from bearings.model import FaultNet
from bearings.signals import CLASSES, spectrum

ARTIFACTS = Path(__file__).parent / "artifacts"


def load_classifier() -> FaultNet:
    """Return the trained classifier, ready for use."""
    model = FaultNet()
    model.load_state_dict(torch.load(ARTIFACTS / "faultnet.pt", weights_only=True))
    return model.eval()


def load_autoencoder() -> Autoencoder:
    """Return the trained autoencoder, ready for use."""
    model = Autoencoder()
    model.load_state_dict(torch.load(ARTIFACTS / "autoencoder.pt", weights_only=True))
    return model.eval()


class FaultService:
    """Answers for one recording or for many."""

    def __init__(self) -> None:
        self.classifier = load_classifier()
        self.autoencoder = load_autoencoder()

    def classify(self, signal: torch.Tensor) -> dict[str, object]:
        """Return the fault of one recording, float32[1, L], and how unusual the recording is."""
        spectra = spectrum(signal.unsqueeze(0))
        with torch.inference_mode():
            logits = self.classifier(signal.unsqueeze(0))
            usual = self.autoencoder(spectra)
        strangeness = (usual - spectra).square().mean().item()
        return {"fault": CLASSES[int(logits.argmax())], "strangeness": round(strangeness, 3)}

    def classify_many(self, signals: torch.Tensor) -> list[str]:
        """Return the fault of every recording of a batch, float32[B, 1, L]."""
        with torch.inference_mode():
            logits = self.classifier(signals)
        return [CLASSES[index] for index in logits.argmax(dim=1).tolist()]


def main() -> None:
    """Answer until stdin ends."""
    service = FaultService()
    for line in sys.stdin:
        signal = torch.tensor(json.loads(line), dtype=torch.float32).unsqueeze(0)
        print(json.dumps(service.classify(signal)), flush=True)


if __name__ == "__main__":
    main()
