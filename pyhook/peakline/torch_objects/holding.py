"""Looks for what keeps memory alive when `peakline run --hold` asks for it.

The search itself is pyhook/holders/; here stands when: after a step of an optimizer, at the end, on
SIGUSR2, and when memory ran out. Without --hold nothing of this is done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import ModuleType

from .main_return import MainReturn

_BLOCKS = 20
_SECONDS = 2.0
# A program that looks for its largest batch runs out of memory again and again.
_MOST_OUT_OF_MEMORY = 3
# A script that calls a function again and again: what returns first is hardly its main function.
_MOST_RETURNS = 3


class Holding:
    """What --hold asks for, from PEAKLINE_HOLD: "100,end,5s"."""

    def __init__(self, recorder: ModuleType, tell_everything: Callable[[], None]) -> None:
        """Read the environment. `tell_everything` says which blocks are parameters and the like."""
        self._tell_everything = tell_everything
        words = [word for word in os.environ.get("PEAKLINE_HOLD", "").split(",") if word]
        self._recorder = recorder
        self.is_on = bool(words)
        self._steps = {int(word) for word in words if word.isdigit()}
        self._at_end = "end" in words
        seconds = [float(word[:-1]) for word in words if word.endswith("s")]
        self._seconds = seconds[0] if seconds else _SECONDS
        self._step = 0
        self._out_of_memory = 0
        self._begin = self._main_begin = time.monotonic()
        self._main = MainReturn(recorder, self._search_at_return) if self._at_end else None
        self._returns = 0
        self._is_returning = False

    def look(self, reasons: int) -> None:
        """Search when it is time; at a safe point."""
        if not self.is_on:
            return
        why = self._recorder
        if self._is_returning:
            self._is_returning = False
            self._search(why.HOLD_MAIN)
        if self._main is not None and self._main.watch():
            self._main_begin = time.monotonic()
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
            self._report_steps_left()

    def _search_at_return(self) -> None:
        """Search where what returns may be the program's main function, and no step of its loop."""
        now = time.monotonic()
        ran_most = now - self._main_begin >= (now - self._begin) / 2
        if ran_most and self._returns < _MOST_RETURNS:
            self._returns += 1
            self._is_returning = True
            self._recorder.safe_point(self._recorder.LOOK)

    def _search(self, reason: int) -> None:
        self._tell_everything()
        self._recorder.hold(self._seconds, _BLOCKS, reason, self._step)

    def _report_steps_left(self) -> None:
        late = sorted(step for step in self._steps if step > self._step)
        if late and os.environ.get("RANK", "0") == "0":
            text = f"its optimizers made {self._step} step{'s' * (self._step != 1)}"
            self._recorder.say(f"--hold {late[0]}: the program ended before, {text}")
        self._steps.clear()
