"""Hides messages of Java's start from the terminal; later messages pass.

If the start fails, they contain the reason, among hundreds of lines of stack traces.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_STARTED = b"\0peakline: the start is over\n"
_REST_SECONDS = 1  # wait for messages before the failure


class Saying:
    """Java's messages: held back up to `_STARTED`, which we write, and passed on after it."""

    def __init__(self, source: int, target: int) -> None:
        """Copy from one file to another, in a thread, until the first ends."""
        self._source, self._target = source, target
        self._kept = b""
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def lines(self) -> list[str]:
        """Return the messages of the start, without lines of stack traces."""
        self._thread.join(_REST_SECONDS)
        lines = self._kept.partition(_STARTED)[0].decode(errors="replace").splitlines()
        return [line for line in lines if line[:1].strip()]

    def _copy(self) -> None:
        while data := os.read(self._source, 1 << 16):
            if _STARTED not in self._kept:
                self._kept += data
                data = self._kept.partition(_STARTED)[2]
            os.write(self._target, data)


@contextmanager
def quiet_start() -> Iterator[Saying]:
    """Start Java in this block: it keeps the error stream of its start for its lifetime."""
    sys.stderr.flush()
    own = os.dup(2)
    reading, writing = os.pipe()
    saying = Saying(reading, own)
    os.dup2(writing, 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about releases of pandas, which is not used
            yield saying
    finally:
        os.dup2(own, 2)
        os.write(writing, _STARTED)
        os.close(writing)
