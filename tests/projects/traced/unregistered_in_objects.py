# input: float32[2,4]
"""Layers kept in a plain object, a deque and an ordered dict; registered ones under other names."""

from collections import OrderedDict, deque
from torch import nn


class Stack:
    def __init__(self):
        self.layers = [nn.Linear(4, 4)]

    def run(self, x):
        for layer in self.layers:
            x = layer(x)  # want: ML606
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = Stack()
        self.q = deque([nn.Linear(4, 4)])
        self.d = OrderedDict(a=nn.Linear(4, 4))
        self.ok = OrderedDict()
        self.fc = nn.Linear(4, 4)
        self.ok["fc"] = self.fc
        self.loss = [nn.CrossEntropyLoss(), nn.GELU()]

    def forward(self, x):
        x = self.stack.run(x)
        x = self.q[0](x)  # want: ML606
        x = self.d["a"](x)  # want: ML606
        return self.loss[1](self.ok["fc"](x))


def build():
    return Net().eval()
