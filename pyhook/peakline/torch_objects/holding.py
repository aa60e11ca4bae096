"""Looks for what keeps memory alive when `peakline run --hold` asks for it.

The search itself is pyhook/holders/; here stands when: after a step of an optimizer, at the end, on
SIGUSR2, and when memory ran out. Without --hold nothing of this is done.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType, ModuleType

_BLOCKS = 20
_SECONDS = 2.0
# A program that looks for its largest batch runs out of memory again and again.
_MOST_OUT_OF_MEMORY = 3


class Holding:
    """What --hold asks for, from PEAKLINE_HOLD: "100,end,5s"."""

    def __init__(self, recorder: ModuleType, tell_everything: Callable[[], None]) -> None:
        """Read the environment. `tell_everything` says which blocks are parameters and the like."""
        self._tell_everything = tell_everything
        words = [word for word in os.environ.get("PEAKLINE_HOLD", "").split(",") if word]
        self._recorder = recorder
        self._is_on = bool(words)
        self._steps = {int(word) for word in words if word.isdigit()}
        self._at_end = "end" in words
        seconds = [float(word[:-1]) for word in words if word.endswith("s")]
        self._seconds = seconds[0] if seconds else _SECONDS
        self._step = 0
        self._out_of_memory = 0
        self._has_handler = False
        self._is_said = False
        if self._is_on:
            self._watch_signal()

    def look(self, reasons: int) -> None:
        """Search when it is time; at a safe point."""
        if not self._is_on:
            return
        why = self._recorder
        self._watch_signal()
        if reasons & (why.OPTIMIZER_STEP | why.UNTRACED_STEP):
            self._step += 1
            if self._step in self._steps:
                self._search(why.HOLD_STEP)
            elif self._step + 1 in self._steps:
                why.remember_lines()
        if reasons & why.HOLD:
            self._search(why.HOLD_SIGNAL)
        if reasons & why.OUT_OF_MEMORY and self._out_of_memory < _MOST_OUT_OF_MEMORY:
            self._out_of_memory += 1
            self._search(why.HOLD_OUT_OF_MEMORY)
        if reasons & why.LAST_LOOK:
            if self._at_end:
                self._search(why.HOLD_END)
            self._report_other_handler()
            self._report_steps_left()

    def _search(self, reason: int) -> None:
        self._tell_everything()
        self._recorder.hold(self._seconds, _BLOCKS, reason, self._step)

    def _watch_signal(self) -> None:
        """Take SIGUSR2, where nobody else has; only the main thread may."""
        if self._has_handler or self._is_said:
            return
        if signal.getsignal(signal.SIGUSR2) is not signal.SIG_DFL:
            self._say_other_handler()
            return
        try:
            signal.signal(signal.SIGUSR2, self._on_signal)
            self._has_handler = True
        except ValueError:  # another thread
            return

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._recorder.safe_point(self._recorder.HOLD)

    def _report_other_handler(self) -> None:
        """The program may have put its own in place of ours: it wins."""
        if self._has_handler and signal.getsignal(signal.SIGUSR2) != self._on_signal:
            self._say_other_handler()

    def _report_steps_left(self) -> None:
        late = sorted(step for step in self._steps if step > self._step)
        if late and os.environ.get("RANK", "0") == "0":
            text = f"its optimizers made {self._step} step{'s' * (self._step != 1)}"
            os.write(2, f"peakline: --hold {late[0]}: the program ended before, {text}\n".encode())
        self._steps.clear()

    def _say_other_handler(self) -> None:
        if not self._is_said:
            self._is_said = True
            os.write(
                2,
                b"peakline: the program handles SIGUSR2 itself: it takes no search for holders; "
                b"peakline.holders() does\n",
            )
