# input: float32[2,4]
"""One branch of a ModuleDict left in training mode."""

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict(
            {"a": nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)), "b": nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))}
        )

    def forward(self, x):
        x = self.heads["a"](x)
        x = self.heads["b"](x)  # want: ML601 ML605
        return x


def build():
    m = Net().eval()
    m.heads["b"].train()
    return m
