"""Flushes the traces of running programs to the disk every few seconds.

The recorder writes to the pages of a file and never waits for a disk. A killed program loses
nothing, but a crash of the machine loses all data that the kernel has not written yet. So `peakline
run`, a separate process, requests the writing every few seconds.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.base.files import TRACE_BEGINS
from peakline.recording.live_state import traces_of_process

if TYPE_CHECKING:
    from typing import Self

PAUSE_SECONDS = 10.0


class DiskSaving:
    """Saves the traces of all descendants of this process while its `with` block runs."""

    def __init__(self, pause_seconds: float = PAUSE_SECONDS) -> None:
        """Begin after the first pause."""
        self._pause_seconds = pause_seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._save_often, name="disk", daemon=True)

    def __enter__(self) -> Self:
        """Begin to save."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, without waiting for a busy disk."""
        self._is_over.set()

    def _save_often(self) -> None:
        while not self._is_over.wait(self._pause_seconds):
            with suppress(OSError):
                save_traces(os.getpid())


def save_traces(process: int) -> list[str]:
    """Flush the traces that a process and its descendants write; returns their paths.

    Raises:
        ProcessLookupError: there is no such process.
        PermissionError: it belongs to another user.
    """
    return [trace for trace in traces_of_process(process, _is_trace) if _save(trace)]


def _is_trace(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(TRACE_BEGINS)) == TRACE_BEGINS
    except OSError:
        return False


def _save(trace: str) -> bool:
    """Flush a file; returns False if it was removed, which may happen at any moment."""
    try:
        descriptor = os.open(trace, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.fdatasync(descriptor)  # includes data written through a mapping
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
