"""`peakline run --steps N`: ends the program when its optimizers have made N steps.

The end is that of os._exit(0), in the thread that made the step, after what the program printed has
been flushed and the device has finished. No exception is raised: the program could catch it, and a
`finally` could go on for hours. The interposed `_exit` (preload/bootstrap.cpp) closes the trace.

A step counts when every optimizer that steps has made it: of the two of a GAN, or one for each
parameter, the last one ends the program.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import weakref
from pathlib import Path
from typing import Any

from _peakline_imports import when_imported

# An optimizer that steps this many times as often does not wait for the others.
_MOST_TIMES_AS_OFTEN = 10
_RECORDER = Path(__file__).resolve().parents[1] / "_native" / "libpeakline.so"


class _Steps:
    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._counts: dict[int, tuple[Any, int]] = {}  # weak reference and count, by id

    def count(self, optimizer: Any) -> None:
        """Count a step that has ended; does not return from the last one."""
        key = id(optimizer)
        reference, count = self._counts.get(key, (None, 0))
        if reference is None or reference() is not optimizer:
            reference, count = weakref.ref(optimizer), 0
        self._counts[key] = (reference, count + 1)
        alive = [steps for known, steps in self._counts.values() if known() is not None]
        if min(alive) >= self._wanted or max(alive) >= _MOST_TIMES_AS_OFTEN * self._wanted:
            _leave(self._wanted)


def _leave(steps: int) -> None:
    _wait_for_device()
    _note_in_trace(steps)
    if os.environ.get("RANK", "0") == "0":
        times = f"{steps} optimizer step{'s' * (steps > 1)}"
        text = f"peakline: the program was ended after {times}, as --steps asks\n"
        os.write(2, text.encode())
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


def _note_in_trace(steps: int) -> None:
    import ctypes

    try:
        recorder = ctypes.CDLL(str(_RECORDER), mode=os.RTLD_NOLOAD)
    except OSError:  # nothing is recorded here
        return
    recorder.peakline_put_meta(b"ended_after_steps", str(steps).encode())


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


def prepare() -> None:
    """Count the steps of all optimizers, once torch is imported."""
    steps = _Steps(int(os.environ["PEAKLINE_STEPS"]))

    def wrap(module: Any) -> None:
        real = module.Optimizer.profile_hook_step

        @functools.wraps(real)
        def profile_hook_step(function: Any) -> Any:
            hooked = real(function)

            @functools.wraps(hooked)
            def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
                result = hooked(optimizer, *args, **kwargs)
                steps.count(optimizer)
                return result

            return step

        module.Optimizer.profile_hook_step = staticmethod(profile_hook_step)

    when_imported("torch.optim.optimizer", wrap)
