"""Experiments on the model: run it several times, change one thing, compare. `result` and `names` need no torch."""
