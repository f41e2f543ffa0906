# status: 2
"""An import fails."""
import no_such_package_anywhere


def build():
    return no_such_package_anywhere
