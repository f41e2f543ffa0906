# status: 2
"""Not Python."""
def build(
    return 1
