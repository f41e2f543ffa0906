"""Synthetic vibration: what an accelerometer on a bearing's housing records.

A rotating shaft gives a sine at its own frequency and harmonics. A damaged race is struck by every ball that rolls
over it: a train of impulses at the race's characteristic frequency, each ringing at the housing's resonance. An
unbalanced rotor is one strong sine at the shaft's frequency.
"""

from __future__ import annotations

import math

import torch

CLASSES = ("healthy", "inner race", "outer race", "imbalance")
RATE = 12_000  # samples a second
LENGTH = 1024  # samples a recording, 85 ms
BINS = LENGTH // 2 + 1  # frequencies of a spectrum
SHAFT = 29.5  # turns a second
RESONANCE = 2_800.0  # hertz
STRIKES = {"inner race": 5.42, "outer race": 3.58}  # balls that hit the fault in one turn


def record(fault: str, generator: torch.Generator) -> torch.Tensor:
    """Return one recording of a machine with `fault`: float32[1, LENGTH], scaled to unit variance."""

    def draw(low: float, high: float) -> float:
        return low + (high - low) * torch.rand((), generator=generator).item()

    time = torch.arange(LENGTH) / RATE
    shaft = SHAFT * draw(0.9, 1.1)
    signal = torch.zeros(LENGTH)
    for harmonic in (1, 2, 3):
        amplitude = draw(0.2, 0.6) / harmonic
        if fault == "imbalance" and harmonic == 1:
            amplitude += draw(0.8, 2.0)
        signal += amplitude * torch.sin(2 * math.pi * (harmonic * shaft * time + draw(0, 1)))
    if fault in STRIKES:
        phase = (time * shaft * STRIKES[fault] + draw(0, 1)) % 1.0
        since_strike = phase / (shaft * STRIKES[fault])
        ringing = torch.exp(-900.0 * since_strike) * torch.sin(2 * math.pi * RESONANCE * since_strike)
        signal += draw(0.8, 2.0) * ringing
    signal += draw(0.15, 0.45) * torch.randn(LENGTH, generator=generator)
    return ((signal - signal.mean()) / signal.std()).unsqueeze(0)


def recordings(each: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return `each` recordings of every class, float32[4 * each, 1, LENGTH], and their labels, int64[4 * each]."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(len(CLASSES)).repeat(each)
    return torch.stack([record(CLASSES[label], generator) for label in labels]), labels


def spectrum(signals: torch.Tensor) -> torch.Tensor:
    """Return the logarithmic spectrum of recordings, float32[B, 1, L], as float32[B, BINS]."""
    return torch.fft.rfft(signals.squeeze(1)).abs().log1p()
