# input: float32[2,5,8]
"""The same in training mode."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2, batch_first=True)
        self.mha = nn.MultiheadAttention(8, 2, dropout=0.3, batch_first=True)
        self.rnn = nn.GRU(8, 8, num_layers=2, dropout=0.4, batch_first=True)
        self.single = nn.LSTM(8, 8, batch_first=True)

    def forward(self, x):
        x = self.encoder(x)  # want: ML601

        x, _ = self.mha(x, x, x)  # want: ML601

        x = self.rnn(x)[0]  # want: ML601

        return self.single(x)[0]


def build():
    return Net()
