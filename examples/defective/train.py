"""Train the fault classifier and the autoencoder on synthetic recordings; takes seconds on a CPU.

    python train.py [--epochs N]

Writes artifacts/faultnet.pt, artifacts/autoencoder.pt and, for predict.py, artifacts/recordings.pt.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bearings.anomaly import Autoencoder
from bearings.model import FaultNet
from bearings.signals import recordings, spectrum

ARTIFACTS = Path(__file__).parent / "artifacts"


def train_classifier(model: nn.Module, epochs: int) -> None:
    """Fit `model` and print its accuracy on recordings that it has not seen, once an epoch."""
    seen = DataLoader(TensorDataset(*recordings(each=96, seed=1)), batch_size=32, shuffle=True)
    unseen = DataLoader(TensorDataset(*recordings(each=32, seed=2)), batch_size=32)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(1, epochs + 1):
        model.train()
        for signals, labels in seen:
            optimiser.zero_grad()
            loss = F.cross_entropy(model(signals), labels)
            loss.backward()
            optimiser.step()
        print(f"epoch {epoch}: accuracy {accuracy(model, unseen):.2f}")


def accuracy(model: nn.Module, loader: DataLoader) -> float:
    """Return the share of `loader`'s recordings that `model` names rightly."""
    right = total = 0
    with torch.no_grad():
        for signals, labels in loader:
            logits = model(signals)
            right += (logits.argmax(dim=1) == labels).sum().item()
            total += len(labels)
    return right / total


def train_autoencoder(model: nn.Module, epochs: int) -> None:
    """Fit `model` to healthy machines only."""
    signals, labels = recordings(each=96, seed=1)
    healthy = DataLoader(TensorDataset(spectrum(signals[labels == 0])), batch_size=32, shuffle=True)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(epochs):
        for (spectra,) in healthy:
            optimiser.zero_grad()
            loss = F.mse_loss(model(spectra), spectra)
            loss.backward()
            optimiser.step()


def main() -> None:
    """Train both models and save what predict.py and service.py need."""
    parser = argparse.ArgumentParser(description="Train the fault classifier and the autoencoder.")
    parser.add_argument("--epochs", type=int, default=6)
    epochs = parser.parse_args().epochs

    torch.manual_seed(0)
    classifier = FaultNet()
    train_classifier(classifier, epochs)
    autoencoder = Autoencoder()
    train_autoencoder(autoencoder, 10 * epochs)

    ARTIFACTS.mkdir(exist_ok=True)
    torch.save(classifier.state_dict(), ARTIFACTS / "faultnet.pt")
    torch.save(autoencoder.state_dict(), ARTIFACTS / "autoencoder.pt")
    signals, labels = recordings(each=2, seed=3)
    torch.save({"signals": signals, "labels": labels}, ARTIFACTS / "recordings.pt")


if __name__ == "__main__":
    main()
