# status: 2
"""The factory needs arguments."""


def build(config):
    return config
