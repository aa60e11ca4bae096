"""Keeps what Java says while it starts from people's terminals; what it says later passes.

Where the start fails, what it said has the reason, among hundreds of lines of stack traces.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Of every start, whatever the settings of its log are.
_USUAL = re.compile(
    rb"WARNING: Using incubator modules|Setting default log level|To adjust logging level"
    rb"|Using Spark's default log4j|WARNING: package sun\.security\.action"
    rb"|.* WARN Utils: (Your hostname|Set SPARK_LOCAL_IP)|.* WARN NativeCodeLoader:"
)
# How Java says why it ends, and why a cluster gave the program up.
_REASONS = (
    re.compile(r"^Exception in thread \"main\" [\w.$]+: (.+)", re.MULTILINE),
    re.compile(r" Reason: (.+)"),
)
_REST_SECONDS = 1  # for what Java said before it failed


class Saying:
    """What Java says: kept while it starts, passed on after that."""

    def __init__(self, source: int, target: int) -> None:
        """Copy from one file to another, in a thread, until the first ends."""
        self._source, self._target = source, target
        self._lock = threading.Lock()
        self._said = b""  # Guarded by _lock.
        self._is_kept = True  # Guarded by _lock.
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def reason(self) -> str:
        """Return why the start failed; "" where that was not said."""
        self._thread.join(_REST_SECONDS)
        with self._lock:
            text = self._said.decode(errors="replace")
        return next((found[1].strip() for one in _REASONS if (found := one.search(text))), "")

    def pass_on(self) -> None:
        """Write what was said so far and whatever comes: the start is over."""
        with self._lock:
            self._is_kept = False
            self._write(self._said)
            self._said = b""

    def _copy(self) -> None:
        while data := os.read(self._source, 1 << 16):
            with self._lock:
                if self._is_kept:
                    self._said += data
                else:
                    self._write(data)

    def _write(self, data: bytes) -> None:
        for line in data.splitlines(keepends=True):
            if not _USUAL.match(line):
                os.write(self._target, line)


@contextmanager
def quiet_start() -> Iterator[Saying]:
    """Start Java in this block: it keeps the error stream that it is given here for its life."""
    sys.stderr.flush()
    own = os.dup(2)
    reading, writing = os.pipe()
    saying = Saying(reading, own)
    os.dup2(writing, 2)
    os.close(writing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about releases of pandas, which is not used
            yield saying
    finally:
        os.dup2(own, 2)
    saying.pass_on()
