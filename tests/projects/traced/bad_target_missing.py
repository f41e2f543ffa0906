# status: 2
"""There is no build."""


def make():
    return None
