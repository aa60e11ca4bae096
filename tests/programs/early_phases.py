"""Marks phases and steps before CUDA is initialised, and before the trace: [under-run].

What is allocated has its own size in each phase. Prints {"sizes": {phase: bytes}}, what was
allocated while the phase was open, in whichever thread.
"""

import sys
import threading

import peakline
import torch
from counters import finish_holding

MEGABYTE = 1 << 20
kept: list[torch.Tensor] = []
sizes = {"outer": 0, "inner": 0, "other": 0, "nested": 0, "late": 0}


def allocate(megabytes: int, *phases: str) -> None:
    kept.append(torch.empty(megabytes * MEGABYTE, dtype=torch.uint8, device="cuda"))
    for name in phases:
        sizes[name] += megabytes * MEGABYTE


def other_thread() -> None:
    with peakline.phase("other"):
        with peakline.phase("nested"):
            is_open.set()
            first_is_made.wait()
            allocate(8, "other", "nested")
        with peakline.phase("late"):
            allocate(16, "other", "late")


is_open, first_is_made = threading.Event(), threading.Event()
peakline.mark("before CUDA")
peakline.step("first")
with peakline.phase("ended before"):
    assert not torch.cuda.is_initialized()
thread = threading.Thread(target=other_thread)
thread.start()
is_open.wait()
with peakline.phase("outer"):
    with peakline.phase("inner"):
        peakline.step("second")
        assert not torch.cuda.is_initialized()
        if "under-run" not in sys.argv:
            peakline.switch_allocator()
            tracing = peakline.trace("own.peak")
            tracing.__enter__()
        allocate(1, "other", "nested", "outer", "inner")
    allocate(2, "other", "nested", "outer")
    peakline.mark("half way")
    peakline.step("third")
allocate(4, "other", "nested")
first_is_made.set()
thread.join()
if "under-run" not in sys.argv:
    tracing.__exit__(None, None, None)
finish_holding(sizes=sizes)
