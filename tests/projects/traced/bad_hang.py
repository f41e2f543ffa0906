# options: --timeout 3
# status: 2
"""Never comes back."""
import time


def build():
    time.sleep(1000)
