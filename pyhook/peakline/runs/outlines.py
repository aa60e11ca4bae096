"""What each process came to: read from its trace's outline, or from its events."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from peakline._report import Trace, TraceError, store_outline

_MOST_AT_ONCE = 8
_MOST_BYTES = 256 << 20  # reading their events takes a few seconds


def read_outline(path: Path) -> dict[str, Any]:
    """Return the outline of a trace; see `_report.Trace.outline`.

    Files of the program are written relative to its working folder, so that ranks on other machines
    have the same lines.

    Raises:
        TraceError: the trace cannot be read.
    """
    trace = Trace(str(path))
    text = trace.stored_outline()
    document: dict[str, Any] = json.loads(_outline(trace) if text is None else text)
    document["file"] = str(path)
    return document


def _outline(trace: Trace) -> str:
    return trace.outline(cwd=trace.info()["meta"].get("working_directory"))


def read_outlines(
    paths: Sequence[Path], progress: Callable[[int], object] = lambda _: None
) -> list[dict[str, Any] | TraceError]:
    """Return the outlines of many traces, several at a time, or why one cannot be read.

    Args:
        paths: the traces.
        progress: is told how many were read.
    """

    def read(path: Path) -> dict[str, Any] | TraceError:
        try:
            return read_outline(path)
        except TraceError as error:
            return error

    return _for_each(paths, read, progress)


def store_outlines(paths: Sequence[Path]) -> None:
    """Put its outline into every trace that takes one and is not very long.

    It saves time later, no more: what goes wrong is nobody's trouble.
    """

    def store(path: Path) -> None:
        try:
            if path.stat().st_size > _MOST_BYTES:
                return
            trace = Trace(str(path))
            if trace.stored_outline() is None and not trace.info()["is_being_written"]:
                store_outline(str(path), _outline(trace))
        except (TraceError, OSError):
            pass

    _for_each(paths, store, lambda _: None)


def _for_each(
    paths: Sequence[Path], work: Callable[[Path], Any], progress: Callable[[int], object]
) -> list[Any]:
    """Do the work for every path, on every core: the engine leaves Python alone meanwhile."""
    if not paths:
        return []
    done = []
    # While a trace is open, torch's symbols stay in memory for all.
    keeper = Trace(str(paths[0])) if len(paths) > 1 and _is_readable(paths[0]) else None
    with ThreadPoolExecutor(min(_MOST_AT_ONCE, os.cpu_count() or 1)) as pool:
        for result in pool.map(work, paths):
            done.append(result)
            progress(len(done))
    del keeper
    return done


def _is_readable(path: Path) -> bool:
    try:
        Trace(str(path))
    except TraceError:
        return False
    return True
