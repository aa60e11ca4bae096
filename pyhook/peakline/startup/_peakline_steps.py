"""`peakline run --steps`: ends the program after N steps of its optimizers, or records some steps.

N: the end is that of os._exit(0), in the thread that made the step, after what the program printed
has been flushed and the device has finished. No exception is raised: the program could catch it,
and a `finally` could go on for hours. The interposed `_exit` (preload/bootstrap.cpp) closes the
trace.

A..B: the recording is switched on when step A begins, where the one before has ended, and off when
step B has ended; with A.. never off again. The program goes on to its own end.

A step counts when every optimizer that steps has made it: of the two of a GAN, or one for each
parameter, the last one ends it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import weakref
from pathlib import Path
from typing import Any

import _peakline_words
from _peakline_imports import when_imported

# An optimizer that steps this many times as often does not wait for the others.
_MOST_TIMES_AS_OFTEN = 10
_RECORDER = Path(__file__).resolve().parents[1] / "_native" / "libpeakline.so"


class _Steps:
    """How many steps all optimizers have made."""

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
        """Whether all have made so many."""
        alive = [steps for known, steps in self._counts.values() if known() is not None]
        return min(alive) >= wanted or max(alive) >= _MOST_TIMES_AS_OFTEN * wanted


class _Range:
    """Records steps `first` to `last` (None: to the end)."""

    def __init__(self, first: int, last: int | None) -> None:
        self._first = first
        self._last = last
        self._has_begun = first == 1  # with CUDA
        self._has_ended = False

    def after_step(self, steps: _Steps) -> None:
        """Switch the recording where this step is a border."""
        if self._has_ended:
            return
        if self._last is not None and steps.has(self._last):
            self._has_ended = True
            if self._has_begun:
                _call_recorder("peakline_end_recorded_steps")
        elif not self._has_begun and steps.has(self._first - 1):
            # Not before CUDA is initialised.
            self._has_begun = bool(_call_recorder("peakline_begin_recorded_steps"))


class _End:
    """Ends the program."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted

    def after_step(self, steps: _Steps) -> None:
        """Does not return from the last one."""
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
    """Other ranks may still wait for what this one has sent."""
    try:
        torch = sys.modules["torch"]
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except Exception:  # the program ends either way
        return


def _call_recorder(name: str, *words: bytes) -> int:
    """Call a function of the recorder; 0 where nothing is recorded."""
    import ctypes

    try:
        # With the GIL: the program's objects are named.
        recorder = ctypes.PyDLL(str(_RECORDER), mode=os.RTLD_NOLOAD)
    except OSError:
        return 0
    return int(recorder[name](*words))


def _end_workers() -> None:
    """Those that end with their parent would notice it only after seconds."""
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes is not None else []:
        if child.daemon:
            child.terminate()


def _flush() -> None:
    import ctypes
    import logging

    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, or replaced by something that cannot
            stream.flush()
    ctypes.CDLL(None).fflush(None)


def _wanted(text: str) -> _End | _Range:
    first, is_range, last = text.partition("..")
    return _Range(int(first), int(last) if last else None) if is_range else _End(int(first))


def prepare() -> None:
    """Count the steps of all optimizers, once torch is imported."""
    steps = _Steps()
    wanted = _wanted(os.environ["PEAKLINE_STEPS"])

    def wrap(module: Any) -> None:
        real = module.Optimizer.profile_hook_step

        @functools.wraps(real)
        def profile_hook_step(function: Any) -> Any:
            hooked = real(function)

            @functools.wraps(hooked)
            def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
                result = hooked(optimizer, *args, **kwargs)
                steps.count(optimizer)
                wanted.after_step(steps)
                return result

            return step

        module.Optimizer.profile_hook_step = staticmethod(profile_hook_step)

    when_imported("torch.optim.optimizer", wrap)
