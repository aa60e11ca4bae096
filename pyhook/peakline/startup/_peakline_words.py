"""What is said in the program before the recorder is there, and by parts that do not need it."""

from __future__ import annotations

import os


def say(text: str) -> None:
    """Write a line to descriptor 2, unless it leads to another file than that of `peakline run`.

    A program may have given the number to a file of its own. PEAKLINE_STDERR is DEVICE:INODE. No
    character drives a terminal; `peakline.base.output`, which does that elsewhere, may be
    missing here.
    """
    try:
        status = os.fstat(2)
        first = os.environ.get("PEAKLINE_STDERR", "")
        if first in ("", f"{status.st_dev:x}:{status.st_ino:x}"):
            line = "".join(one if one.isprintable() else "?" for one in text)
            os.write(2, f"peakline: {line}\n".encode(errors="backslashreplace"))
    except OSError:
        pass  # closed, or full: nowhere left to say it
