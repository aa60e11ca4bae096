"""Accepts a process id instead of a trace: the trace that the process writes."""

from __future__ import annotations

import argparse
from pathlib import Path

from peakline.base.engine import CommandError
from peakline.recording.live_state import is_readable, traces_of_process


def is_process_id(word: str) -> bool:
    """Return whether an argument is the number of a process and not a file."""
    return word.isascii() and word.isdigit() and not Path(word).exists()


def name_traces(args: argparse.Namespace) -> None:
    """Replace process ids in the arguments by traces.

    Raises:
        CommandError: a process writes no trace, or several where the command takes one.
    """
    files: list[str] | None = getattr(args, "files", None)
    if files:
        args.files = [trace for word in files for trace in _traces_of_word(word)]
    file: str | None = getattr(args, "file", None)
    if file and is_process_id(file):
        traces = open_traces(int(file))
        if len(traces) > 1:
            raise CommandError(
                f"process {file} has several traces, name one of them: {', '.join(traces)}"
            )
        args.file = traces[0]


def _traces_of_word(word: str) -> list[str]:
    return open_traces(int(word)) if is_process_id(word) else [word]


def open_traces(process: int) -> list[str]:
    """Return the traces that a process and its descendants write, its own first.

    Raises:
        CommandError: there are none.
    """
    try:
        traces = traces_of_process(process, is_readable())
    except (ProcessLookupError, PermissionError) as error:
        raise CommandError(
            f"{error}; name a process that peakline records, or its trace file"
        ) from error
    if not traces:
        raise CommandError(
            f"process {process} writes no trace: it is not recorded by peakline, or has not used"
            f" the GPU yet (peakline live {process} waits for that)"
        )
    return traces
