"""Searches for holders of memory when `peakline run --hold` requests it.

pyhook/holders/ does the search; this module decides when: after a step, at the end, on SIGUSR2, and
when memory runs out. Without --hold it does nothing. A step is an optimizer step; without one, a
peakline.step() mark; without marks, a batch of a DataLoader.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType

from .main_return import MainReturn

_BLOCKS = 20
_SECONDS = 2.0
# A program that searches for its largest batch runs out of memory again and again.
_MOST_OUT_OF_MEMORY = 3
# In a script that calls functions repeatedly, an early return is hardly that of its main function.
_MOST_RETURNS = 3
_DATA_LOADER = "/torch/utils/data/dataloader.py"


class Holding:
    """The requests of --hold, from PEAKLINE_HOLD: "100,end,5s"."""

    def __init__(self, recorder: ModuleType, report_everything: Callable[[], None]) -> None:
        """Read the environment. `report_everything` reports parameters, gradients and states."""
        self._report_everything = report_everything
        words = [word for word in os.environ.get("PEAKLINE_HOLD", "").split(",") if word]
        self._recorder = recorder
        self.is_on = bool(words)
        self._steps = {int(word) for word in words if word.isdigit()}
        self._at_end = "end" in words
        seconds = [float(word[:-1]) for word in words if word.endswith("s")]
        self._seconds = seconds[0] if seconds else _SECONDS
        self._step = self._marks = self._batches = 0
        self._out_of_memory = 0
        self._begin = self._main_begin = time.monotonic()
        self._main = MainReturn(recorder, self._search_at_return) if self._at_end else None
        self._returns = 0
        self._is_returning = False

    def look(self, reasons: int) -> None:
        """Search if a request is due; called at a safe point."""
        if not self.is_on:
            return
        why = self._recorder
        if self._is_returning:
            self._is_returning = False
            self._search(why.HOLD_MAIN)
        if self._main is not None and self._main.watch():
            self._main_begin = time.monotonic()
        self._count(reasons)
        if reasons & why.HOLD:
            self._search(why.HOLD_SIGNAL)
        if reasons & why.OUT_OF_MEMORY and self._out_of_memory < _MOST_OUT_OF_MEMORY:
            self._out_of_memory += 1
            self._search(why.HOLD_OUT_OF_MEMORY)
        if reasons & why.LAST_LOOK:
            if self._at_end:
                self._search(why.HOLD_END)
            self._report_steps_left()

    def _count(self, reasons: int) -> None:
        why = self._recorder
        if reasons & (why.OPTIMIZER_STEP | why.UNTRACED_STEP):
            self._step += 1
            self._look_after(self._step, why.HOLD_STEP)
        elif reasons & why.STEP_MARK and not self._step:
            self._look_after(self._marks, why.HOLD_MARK)
            self._marks += 1  # the marked step begins now
        elif reasons & why.NEXT_BATCH and not self._step + self._marks and _batch_is_done():
            self._batches += 1
            self._look_after(self._batches, why.HOLD_BATCH)

    def _look_after(self, step: int, reason: int) -> None:
        if step in self._steps:
            self._search(reason, step)
        elif step + 1 in self._steps:
            self._recorder.remember_lines()

    def _search_at_return(self) -> None:
        """Search if the returning function may be the main function and not a step of its loop."""
        now = time.monotonic()
        ran_most = now - self._main_begin >= (now - self._begin) / 2
        if ran_most and self._returns < _MOST_RETURNS:
            self._returns += 1
            self._is_returning = True
            self._recorder.safe_point(self._recorder.LOOK)

    def _search(self, reason: int, step: int = 0) -> None:
        self._report_everything()
        self._recorder.hold(self._seconds, _BLOCKS, reason, step)

    def _report_steps_left(self) -> None:
        made = self._step or self._marks or self._batches
        late = sorted(step for step in self._steps if step > made)
        if late and os.environ.get("RANK", "0") == "0":
            count = f"{made} step{'s' * (made != 1)}"
            text = f"its optimizers made {count}"
            if not made:
                text = (
                    "and no step was seen: of an optimizer, by peakline.step(), or a batch of a"
                    " DataLoader; --hold end needs none"
                )
            elif not self._step and self._marks:
                text = f"it marked {count}"
            elif not self._step and self._batches:
                text = f"its optimizers made no step, its data loaders {made} batches"
            self._recorder.say(f"--hold {late[0]}: the program ended before, {text}")
        self._steps.clear()


def _batch_is_done() -> bool:
    """Return whether the DataLoader that must yield its next batch has yielded one before."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__next__" and code.co_filename.endswith(_DATA_LOADER):
            return bool(frame.f_locals["self"].__dict__.get("_num_yielded"))
        frame = frame.f_back
    return False
