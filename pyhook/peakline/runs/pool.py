"""Reads many traces in parallel: the engine releases the GIL while it works."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from peakline._report import Trace, TraceError

_MOST_AT_ONCE = 8  # a trace of 10^8 events takes a GB of memory while it is read


@contextmanager
def reading_pool(paths: Sequence[str | Path]) -> Iterator[ThreadPoolExecutor]:
    """Yield a thread pool for reading these traces."""
    keeper = None
    # An open trace keeps torch's symbols in memory for all.
    with suppress(TraceError):
        keeper = Trace(str(paths[0])) if len(paths) > 1 else None
    with ThreadPoolExecutor(min(_MOST_AT_ONCE, os.cpu_count() or 1)) as pool:
        yield pool
    del keeper
