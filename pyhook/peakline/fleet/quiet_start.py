"""Keeps what Java says while it starts from people's terminals; what it says later passes."""

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
)


@contextmanager
def quiet_start() -> Iterator[None]:
    """Start Java in this block: it keeps the error stream that it is given here for its life."""
    sys.stderr.flush()
    own = os.dup(2)
    reading, writing = os.pipe()
    started = threading.Event()
    threading.Thread(target=_pass_on, args=(reading, own, started), daemon=True).start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about releases of pandas, which is not used
            yield
    finally:
        os.dup2(own, 2)
        started.set()


def _pass_on(source: int, target: int, started: threading.Event) -> None:
    """Copy a stream until it ends, without the usual lines while `started` is not set.

    A line that is not whole yet waits, but not after the start: a progress bar has no ends.
    """
    rest = b""
    while data := os.read(source, 1 << 16):
        lines = (rest + data).splitlines(keepends=True)
        rest = b""
        if lines and not lines[-1].endswith(b"\n") and not started.is_set():
            rest = lines.pop()
        for line in lines:
            if not _USUAL.match(line):
                os.write(target, line)
    if rest:
        os.write(target, rest)
