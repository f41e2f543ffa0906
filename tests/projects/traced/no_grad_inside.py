# input: float32[2,8]
"""no_grad and inference_mode of the model's own: nothing to report."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    @torch.inference_mode()
    def inner(self, x):
        return self.fc(x)

    def forward(self, x):
        with torch.no_grad():
            x = self.fc(x)
        return self.inner(x)


def build():
    return Net().eval()
