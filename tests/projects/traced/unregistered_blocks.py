# input: float32[2,4]
"""Blocks kept in a list and called through `.forward`; a teacher kept apart on purpose."""

from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(), Block()]
        self.good = nn.ModuleList([Block()])
        self.teacher = [Block().eval()]

    def forward(self, x):
        for block in self.blocks:
            x = block.forward(x)  # want: ML606
        for block in self.good:
            x = block.forward(x)
        return self.teacher[0].forward(x)


def build():
    return Net().eval()
