"""Reads the outline of each process: from its trace's outline, or from its events.

Also adds to closed traces what later reports need: outlines, and lines of the program's files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from peakline._report import Trace, TraceError, store_outline, store_sources
from peakline.runs.members import Member
from peakline.runs.pool import reading_pool

_MOST_BYTES = 256 << 20  # reading the events of such traces takes a few seconds


def read_outline(path: Path) -> dict[str, Any]:
    """Return the outline of a trace; see `_report.Trace.outline`.

    Paths of the program's files are relative to its working directory, so that ranks on other
    machines have the same lines.

    Raises:
        TraceError: the trace cannot be read.
    """
    document = outline_of(Trace(str(path)))
    document["file"] = str(path)
    return document


def outline_of(trace: Trace, device: int | str | None = None) -> dict[str, Any]:
    """Return the outline of an open trace, for this device or the one with the highest peak.

    Raises:
        TraceError: the trace cannot be read.
    """
    text = trace.stored_outline() if device is None else None
    document: dict[str, Any] = json.loads(_made_outline(trace, device) if text is None else text)
    return document


def _made_outline(trace: Trace, device: int | str | None = None) -> str:
    return trace.outline(cwd=trace.info()["meta"].get("working_directory"), device=device)


def read_outlines(
    paths: Sequence[Path], progress: Callable[[int], object] = lambda _: None
) -> list[dict[str, Any] | TraceError]:
    """Return the outlines of many traces, read several at a time, or the errors.

    Args:
        paths: the traces.
        progress: is called with the number of read traces.
    """

    def read(path: Path) -> dict[str, Any] | TraceError:
        try:
            return read_outline(path)
        except TraceError as error:
            return error

    found = []
    with reading_pool(paths) as pool:
        for outline in pool.map(read, paths):
            found.append(outline)
            progress(len(found))
    return found


def read_peaks(members: Sequence[Member]) -> list[tuple[Member, int]]:
    """Return the highest peak of each process in bytes; skips unreadable traces."""
    outlines = read_outlines([one.path for one in members])
    return [
        (one, int(outline["chosen"]["peak_bytes"]))
        for one, outline in zip(members, outlines, strict=True)
        if not isinstance(outline, TraceError)
    ]


def store_outlines(paths: Sequence[Path]) -> None:
    """Store the outline in every trace that accepts one and is not very long.

    It only saves time later, so errors are ignored.
    """

    def store(path: Path) -> None:
        try:
            if path.stat().st_size > _MOST_BYTES:
                return
            trace = Trace(str(path))
            if trace.stored_outline() is None and not trace.info()["is_being_written"]:
                store_outline(str(path), _made_outline(trace))
        except (TraceError, OSError):
            pass

    _with_each(paths, store)


def store_sources_of(paths: Sequence[Path]) -> None:
    """Store the lines of the program's files in every trace that takes them.

    Without them, reports read the files if those are unchanged: errors are ignored.
    """

    def store(path: Path) -> None:
        with suppress(TraceError, OSError):
            store_sources(str(path))

    _with_each(paths, store)


def _with_each(paths: Sequence[Path], store: Callable[[Path], None]) -> None:
    with reading_pool(paths) as pool:
        list(pool.map(store, paths))
