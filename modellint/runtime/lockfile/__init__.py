"""The lockfile: what a model was when it was locked, and how it differs now. Never imports torch; the worker does."""

from modellint.runtime.lockfile.document import LOCKFILE, Locked, read_lockfile, written
from modellint.runtime.lockfile.prints import Fingerprint
from modellint.runtime.lockfile.taking import Taken, take, verify

__all__ = ["LOCKFILE", "Fingerprint", "Locked", "Taken", "read_lockfile", "take", "verify", "written"]
