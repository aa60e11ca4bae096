"""SIGUSR2 in the program: one handler for `--hold` and `--report-on-signal`.

The program's own handler wins, whether it is set before or after ours.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType, ModuleType


class Signal:
    """Handles the signal by requesting a safe point."""

    def __init__(
        self, recorder: ModuleType, on_taken: Callable[[], None], *, is_wanted: bool
    ) -> None:
        """Install the handler at once on the main thread, else in `watch`; then call `on_taken`."""
        self._recorder = recorder
        self._on_taken = on_taken
        self._is_wanted = is_wanted
        self._has_handler = False
        self._is_reported = False
        self.watch()

    def watch(self) -> None:
        """Install the handler if the program has none; only the main thread may."""
        if not self._is_wanted or self._has_handler or self._is_reported:
            return
        now = signal.getsignal(signal.SIGUSR2)
        # The handler of startup/_peakline_signal.py waits for us.
        if now is not signal.SIG_DFL and not hasattr(now, "peakline_waits"):
            self._say_other_handler()
            return
        try:
            signal.signal(signal.SIGUSR2, self._on_signal)
        except ValueError:  # not the main thread
            return
        self._has_handler = True
        self._on_taken()

    def look_at_end(self) -> None:
        """Report it if the program has replaced our handler."""
        if self._has_handler and signal.getsignal(signal.SIGUSR2) != self._on_signal:
            self._say_other_handler()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._recorder.safe_point(self._recorder.HOLD)

    def _say_other_handler(self) -> None:
        if not self._is_reported:
            self._is_reported = True
            os.write(
                2,
                b"peakline: the program handles SIGUSR2 itself: it takes no search for holders, and"
                b" asks for no report; peakline.holders() and peakline report PID do\n",
            )
