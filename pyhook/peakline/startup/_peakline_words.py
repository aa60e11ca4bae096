"""Prints messages in the program before the recorder is loaded, or without it."""

from __future__ import annotations

import os


def say(text: str) -> None:
    """Write a line to file descriptor 2 if it still is the file of `peakline run`.

    A program may have opened a file of its own with this number. PEAKLINE_STDERR is DEVICE:INODE.
    Characters that control a terminal are replaced; `peakline.base.output`, which does that
    elsewhere, may be missing here.
    """
    try:
        status = os.fstat(2)
        first = os.environ.get("PEAKLINE_STDERR", "")
        if first in ("", f"{status.st_dev:x}:{status.st_ino:x}"):
            line = "".join(one if one.isprintable() else "?" for one in text)
            os.write(2, f"peakline: {line}\n".encode(errors="backslashreplace"))
    except OSError:
        pass  # closed, or full: there is no other way to report it
