# status: 2
"""The factory ends the process."""
import os


def build():
    os._exit(3)
