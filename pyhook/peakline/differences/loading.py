"""Reads a run to compare from a trace or from a summary of one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from peakline.base.engine import CommandError
from peakline.differences import summary
from peakline.differences.side import Side
from peakline.recording import Recording


def path_of(run: Recording | str | os.PathLike[str]) -> str:
    """Return the path of a recording, or a path as it is."""
    return str(run.path if isinstance(run, Recording) else run)


def load_side(
    path: str,
    of_trace: Callable[[Recording], Side],
    of_summary: Callable[[dict[str, Any], str], Side] | None,
) -> Side:
    """Read one side of a comparison by one of two readers.

    Args:
        path: a trace, or a summary that `peakline pack --summary` wrote.
        of_trace: reads a trace.
        of_summary: reads a summary; None: summaries lack the data.

    Raises:
        CommandError: the file cannot be read, or lacks the data.
    """
    try:
        if not summary.is_summary(path):
            return of_trace(Recording(path))
        if of_summary is not None:
            return of_summary(summary.read_summary(path), path)
    except summary.SummaryError as error:
        raise CommandError(str(error)) from error
    raise CommandError(f"{path}: a summary has the lines of the peak, and phases: give both traces")
