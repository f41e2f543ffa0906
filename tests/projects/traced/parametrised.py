# input: float32[2,8]
"""Weight norm and spectral norm in eval: nothing to report."""
from torch import nn
from torch.nn.utils import parametrizations


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = parametrizations.weight_norm(nn.Linear(8, 8))
        self.b = parametrizations.spectral_norm(nn.Linear(8, 8))

    def forward(self, x):
        return self.b(self.a(x))


def build():
    return Net().eval()
