# status: 2
"""The factory returns something else."""


def build():
    return {"model": 1}
