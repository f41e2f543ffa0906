# input: int64[2,4]:0..10
"""One dropout and one weight under two names."""

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.drop = nn.Dropout(0.5)
        self.drop2 = self.drop
        self.out = nn.Linear(4, 10, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, x):
        return self.out(self.drop2(self.drop(self.emb(x))))


def build():
    return Net().eval()
