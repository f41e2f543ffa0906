"""What a child may use: memory and the network; what it has used. A system without the means runs without the limit."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1


def limit_memory(megabytes: int | None) -> None:
    """Let this process map at most `megabytes` more than it has mapped now."""
    if not megabytes or sys.platform == "win32":
        return
    import resource

    limit = _mapped() + megabytes * 2**20
    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    with contextlib.suppress(OSError):
        # Where the system itself runs out, this process is the one to go.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _mapped() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak_memory() -> int | None:
    """Return the most memory that this process ever had resident, in bytes; None where that is unknown (Windows)."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def available_memory() -> int | None:
    """Return four fifths of the memory that is free now, in megabytes.

    None where that is unknown, and on a machine with a GPU: its driver maps far more than there is.
    """
    if any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/kfd")):
        return None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    free = next((int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), None)
    return free and free * 4 // 5 // 1024


def cut_network() -> bool:
    """Put this process into a network of its own that holds only `localhost`. Linux; call before any thread starts.

    Returns whether it worked. Works as root, and as a user where user namespaces are allowed.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWNET) != 0:
        if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            return False
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with contextlib.suppress(OSError):
                Path("/proc/self", name).write_text(text, encoding="ascii")
    with contextlib.suppress(OSError):
        _raise_localhost()
    return True


def _raise_localhost() -> None:
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
