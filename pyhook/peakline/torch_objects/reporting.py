"""Requests a report on SIGUSR2 under `--report-on-signal`.

`peakline run` makes the report in a separate process, so it costs the program neither memory nor
time. `note()` writes the request to a file that `peakline run` reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType


class Reporting:
    """The request of --report-on-signal, from PEAKLINE_REPORT_ON_SIGNAL."""

    def __init__(self, recorder: ModuleType, report_everything: Callable[[], None]) -> None:
        """Read the environment. `report_everything` reports parameters, gradients and states."""
        self.is_on = os.environ.get("PEAKLINE_REPORT_ON_SIGNAL", "") not in ("", "0")
        self._recorder = recorder
        self._report_everything = report_everything

    def look(self, reasons: int) -> None:
        """Request a report if a signal came; called at a safe point."""
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
        """Note that this process handles SIGUSR2 from now on."""
        if self.is_on:
            self._recorder.note("signal", str(os.getpid()))

    def _say(self, text: str) -> None:
        self._recorder.say(f"process {os.getpid()}: {text}")
