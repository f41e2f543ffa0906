# input: float32[2,8]
# status: 2
"""The factory raises."""


def build():
    raise RuntimeError("no checkpoint in ./weights")
