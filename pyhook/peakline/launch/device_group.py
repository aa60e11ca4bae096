"""The file through which simulated processes share their devices.

The format and its use are those of preload/simulate/gpu/model/devices/device_group.h. The file of a
named group is there as long as a run of the group goes on.
"""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SHARED_MEMORY = Path("/dev/shm")


def problem_of_group(name: str) -> str:
    """Return why a name of a group is refused, or ''."""
    if not name or _NAME.fullmatch(name):
        return ""
    return f"--device-group {name}: a name has letters, digits and _ . - only"


@contextmanager
def file_of_group(name: str) -> Iterator[Path]:
    """Give the file of a named group; the last of its runs removes it.

    Raises:
        OSError: the file cannot be made.
    """
    folder = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else Path(tempfile.gettempdir())
    path = folder / f"peakline-devices-{os.getuid()}-{name}"
    held = _held(path)
    try:
        yield path
    finally:
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: others go on
            path.unlink()
        os.close(held)


def _held(path: Path) -> int:
    """Open the file with a shared lock; again if its last run has removed it meanwhile."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        held = os.open(path, flags, 0o600)
        fcntl.flock(held, fcntl.LOCK_SH)
        with suppress(OSError):
            if os.path.samestat(os.fstat(held), path.stat()):
                return held
        os.close(held)
