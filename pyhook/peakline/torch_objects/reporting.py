"""Asks for a report when SIGUSR2 comes, where `--report-on-signal` asked for it.

The report is made by `peakline run`, in a process of its own: the memory and the time of the
program are left alone. It reads the request in the file PEAKLINE_RUN_NOTES.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType


class Reporting:
    """What --report-on-signal asks for, from PEAKLINE_REPORT_ON_SIGNAL."""

    def __init__(self, recorder: ModuleType, tell_everything: Callable[[], None]) -> None:
        """Read the environment. `tell_everything` says which blocks are parameters and the like."""
        self.is_on = os.environ.get("PEAKLINE_REPORT_ON_SIGNAL", "") not in ("", "0")
        self._notes = os.environ.get("PEAKLINE_RUN_NOTES", "")
        self._recorder = recorder
        self._tell_everything = tell_everything

    def look(self, reasons: int) -> None:
        """Ask, if a signal came; at a safe point."""
        if not self.is_on or not reasons & self._recorder.HOLD:
            return
        name = self._recorder.trace_path()
        if not name:
            _say("nothing is recorded now: there is nothing to report")
            return
        self._tell_everything()
        if not self._note(f"report\t{_file_of(name)}"):
            _say(f"type: peakline report {os.getpid()}  (only `peakline run` writes it by itself)")

    def tell_ready(self) -> None:
        """SIGUSR2 is ours from now on."""
        if self.is_on:
            self._note(f"signal\t{os.getpid()}")

    def _note(self, line: str) -> bool:
        """Add a line; False: nobody reads it."""
        try:
            file = os.open(self._notes, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            os.write(file, os.fsencode(f"{line}\n"))
        finally:
            os.close(file)
        return True


def _file_of(name: str) -> str:
    """Return the whole path of the open trace: the program may have changed its folder."""
    for entry in os.scandir("/proc/self/fd"):
        try:
            path = os.readlink(entry.path)  # noqa: PTH115 (nothing is imported here)
        except OSError:
            continue
        if path.endswith("/" + name.rpartition("/")[2]):
            return path
    return os.path.abspath(name)  # noqa: PTH100


def _say(text: str) -> None:
    os.write(2, f"peakline: process {os.getpid()}: {text}\n".encode())
