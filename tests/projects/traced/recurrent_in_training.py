# input: float32[2,5,8]
"""Recurrent layers in training mode, one of them too small for its dropout."""

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.LSTM(8, 8, 1, dropout=0.3, batch_first=True)
        self.two = nn.LSTM(8, 8, 2, dropout=0.3, batch_first=True)
        self.gru = nn.GRU(8, 8, 3, dropout=0.3, batch_first=True, bidirectional=True)

    def forward(self, x):
        x, _ = self.one(x)
        x, _ = self.two(x)  # want: ML601 ML605
        x, _ = self.gru(x)  # want: ML601 ML605
        return x


def build():
    m = Net().eval()
    m.one.train()
    m.two.train()
    m.gru.train()
    return m
