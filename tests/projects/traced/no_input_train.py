"""No input, control flow that cannot be followed: the modules alone answer."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.drop = nn.Dropout(0.5)  # want: ML601

    def forward(self, x):
        if x.sum() > 0:
            x = self.fc(x)
        return self.drop(x)


def build():
    return Net()
