"""Opens record_function regions before CUDA is initialised and before anything is recorded.

What is allocated has its own size in each region. Prints {"sizes": {region: bytes}}, what was
allocated while the region was open, in whichever thread, and what torch's profiler saw of them.
[own-trace]: switches the allocator and opens a trace within regions, and stops and starts tracing.
"""

import contextlib
import sys
import threading
from collections import Counter

import peakline
import torch
from counters import finish_holding
from torch.profiler import ProfilerActivity, profile, record_function

MEGABYTE = 1 << 20
kept: list[torch.Tensor] = []
open_now: list[str] = []
sizes: Counter[str] = Counter()
is_open, is_made = threading.Event(), threading.Event()


@contextlib.contextmanager
def region(name: str):
    with record_function(name):
        open_now.append(name)
        sizes[name] += 0
        try:
            yield
        finally:
            open_now.remove(name)


def allocate(megabytes: int) -> None:
    kept.append(torch.empty(megabytes * MEGABYTE, dtype=torch.uint8, device="cuda"))
    for name in open_now:
        sizes[name] += megabytes * MEGABYTE


def other_thread() -> None:
    with region("other thread"):
        is_open.set()
        is_made.wait()
    is_open.set()


def end_in_thread(crossing: contextlib.AbstractContextManager[None]) -> None:
    thread = threading.Thread(target=crossing.__exit__, args=(None, None, None))
    thread.start()
    thread.join()


def under_run() -> None:
    with region("ended before"):
        pass
    crossing = region("ended by another thread")
    crossing.__enter__()
    thread = threading.Thread(target=other_thread)
    thread.start()
    is_open.wait()
    is_open.clear()
    with profile(activities=[ProfilerActivity.CPU]), region("profiled"):
        assert not torch.cuda.is_initialized()
    with region("outer"):
        with peakline.phase("between"), region("inner"):
            with region("outer"):
                assert not torch.cuda.is_initialized()
                torch.cuda.init()
                with region("before the first block"):
                    allocate(1)
                allocate(2)
            allocate(4)
        is_made.set()
        is_open.wait()
        allocate(8)
    thread.join()
    end_in_thread(crossing)
    allocate(16)
    crossing = region("ended by another thread")
    crossing.__enter__()
    allocate(64)
    end_in_thread(crossing)
    with region("late"):
        allocate(32)


def own_trace() -> None:
    peakline.switch_allocator()
    allocate(1)
    with region("around the trace"):
        sizes.clear()
        tracing = peakline.trace("own.peak")
        tracing.__enter__()
        sizes["around the trace"] = 0
        allocate(2)
        with region("within"):
            allocate(4)
            peakline.stop_tracing()
            with region("while stopped"):
                peakline.start_tracing()
                allocate(8)
            peakline.stop_tracing()
        peakline.start_tracing()
        allocate(16)
    allocate(32)
    tracing.__exit__(None, None, None)


def regions_seen_by_profiler() -> list[str]:
    cpu = [ProfilerActivity.CPU]
    with profile(activities=cpu) as profiler, region("seen"), region("seen within"):
        torch.ones(3)
    return sorted(event.key for event in profiler.key_averages() if event.key.startswith("seen"))


before = regions_seen_by_profiler()
for name in before:
    sizes.pop(name)
own_trace() if "own-trace" in sys.argv else under_run()
after = regions_seen_by_profiler()
for name in after:
    sizes.pop(name)
finish_holding(sizes=sizes, before=before, after=after)
