"""`peakline run --steps`: ends the program after N steps of its optimizers, or records some steps.

N: the program ends like os._exit(0), in the thread that made the step, after its output is flushed
and the device has finished. An exception would not do: the program could catch it, and a `finally`
could run for hours. The interposed `_exit` (preload/bootstrap.cpp) closes the trace.

A..B: the recording starts with step A, when the previous step has ended, and stops when step B has
ended; with A.. it does not stop. The program runs to its own end.

A step counts when every stepping optimizer has made it: of the two optimizers of a GAN, or of one
per parameter, the last one ends the step.
"""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from pathlib import Path
from typing import Any

import _peakline_words
from _peakline_imports import after_each_step

# An optimizer that steps this many times as often does not wait for the others.
_MOST_TIMES_AS_OFTEN = 10
_RECORDER = Path(__file__).resolve().parents[1] / "_native" / "libpeakline.so"


class _Steps:
    """Counts the steps of all optimizers."""

    def __init__(self) -> None:
        self._counts: dict[int, tuple[Any, int]] = {}  # weak reference and count, by id

    def count(self, optimizer: Any) -> None:
        """Count a step that has ended."""
        key = id(optimizer)
        reference, count = self._counts.get(key, (None, 0))
        if reference is None or reference() is not optimizer:
            reference, count = weakref.ref(optimizer), 0
        self._counts[key] = (reference, count + 1)

    def has(self, wanted: int) -> bool:
        """Return whether all optimizers have made this many steps."""
        alive = [steps for known, steps in self._counts.values() if known() is not None]
        return min(alive) >= wanted or max(alive) >= _MOST_TIMES_AS_OFTEN * wanted


class _Range:
    """Records steps `first` to `last` (None: to the end)."""

    def __init__(self, first: int, last: int | None) -> None:
        self._first = first
        self._last = last
        self._has_begun = first == 1  # recording starts with CUDA
        self._has_ended = False

    def after_step(self, steps: _Steps) -> None:
        """Switch the recording if this step is a limit of the range."""
        if self._has_ended:
            return
        if self._last is not None and steps.has(self._last):
            self._has_ended = True
            if self._has_begun:
                _call_recorder("peakline_end_recorded_steps")
        elif not self._has_begun and steps.has(self._first - 1):
            # Returns 0 before CUDA is initialised.
            self._has_begun = bool(_call_recorder("peakline_begin_recorded_steps"))


class _End:
    """Ends the program."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted

    def after_step(self, steps: _Steps) -> None:
        """End the program at the last step; does not return then."""
        if steps.has(self._wanted):
            _leave(self._wanted)


def _leave(steps: int) -> None:
    _wait_for_device()
    _call_recorder("peakline_put_meta", b"ended_after_steps", str(steps).encode())
    if os.environ.get("RANK", "0") == "0":
        times = f"{steps} optimizer step{'s' * (steps > 1)}"
        _peakline_words.say(f"the program was ended after {times}, as --steps asks")
    _end_workers()
    _flush()
    os._exit(0)


def _wait_for_device() -> None:
    """Wait for the device: other ranks may still expect data from this one."""
    try:
        torch = sys.modules["torch"]
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except Exception:  # the program ends either way
        return


def _call_recorder(name: str, *words: bytes) -> int:
    """Call a function of the recorder; returns 0 if nothing is recorded."""
    import ctypes

    try:
        # PyDLL keeps the GIL: the call names the program's objects.
        recorder = ctypes.PyDLL(str(_RECORDER), mode=os.RTLD_NOLOAD)
    except OSError:
        return 0
    return int(recorder[name](*words))


def _end_workers() -> None:
    """End daemon processes, which would notice the end of their parent only after seconds."""
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes is not None else []:
        if child.daemon:
            child.terminate()


def _flush() -> None:
    import ctypes
    import logging

    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, or replaced by an object without flush
            stream.flush()
    ctypes.CDLL(None).fflush(None)


def _wanted(text: str) -> _End | _Range:
    first, is_range, last = text.partition("..")
    return _Range(int(first), int(last) if last else None) if is_range else _End(int(first))


def prepare() -> None:
    """Count the steps of all optimizers, once torch is imported."""
    steps = _Steps()
    wanted = _wanted(os.environ["PEAKLINE_STEPS"])

    def count(optimizer: Any) -> None:
        steps.count(optimizer)
        wanted.after_step(steps)

    after_each_step(count)
