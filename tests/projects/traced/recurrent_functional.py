# input: float32[2,5,8]
"""torch.lstm with and without a training flag of its own."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8, 2, dropout=0.3, batch_first=True)

    def forward(self, x):
        h = torch.zeros(2, x.shape[0], 8)
        y, _, _ = torch.lstm(x, (h, h), self.rnn._flat_weights, True, 2, 0.3, self.training, False, True)
        y, _, _ = torch.lstm(y, (h, h), self.rnn._flat_weights, True, 2, 0.3, True, False, True)  # want: ML601
        return y


def build():
    return Net().eval()
