"""Asks for a report when SIGUSR2 comes, where `--report-on-signal` asked for it.

The report is made by `peakline run`, in a process of its own: the memory and the time of the
program are left alone. It reads the request in the file that
`note()` adds to.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType


class Reporting:
    """What --report-on-signal asks for, from PEAKLINE_REPORT_ON_SIGNAL."""

    def __init__(self, recorder: ModuleType, report_everything: Callable[[], None]) -> None:
        """Read the environment. `report_everything` reports which blocks are parameters."""
        self.is_on = os.environ.get("PEAKLINE_REPORT_ON_SIGNAL", "") not in ("", "0")
        self._recorder = recorder
        self._report_everything = report_everything

    def look(self, reasons: int) -> None:
        """Ask, if a signal came; at a safe point."""
        if not self.is_on or not reasons & self._recorder.HOLD:
            return
        name = self._recorder.trace_path()
        if not name:
            self._say("nothing is recorded now: there is nothing to report")
            return
        self._report_everything()
        if not self._recorder.note("report", name):
            self._say(
                f"type: peakline report {os.getpid()}  (only `peakline run` writes it by itself)"
            )

    def report_ready(self) -> None:
        """SIGUSR2 is ours from now on."""
        if self.is_on:
            self._recorder.note("signal", str(os.getpid()))

    def _say(self, text: str) -> None:
        self._recorder.say(f"process {os.getpid()}: {text}")
