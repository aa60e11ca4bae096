"""Uses the API in a program that runs under `peakline run`: the calls refine that recording."""

from pathlib import Path

import peakline
import torch
from counters import finish

peakline.switch_allocator()
peakline.start_tracing()
with peakline.trace("inner.peak") as trace:
    kept = torch.ones(3 << 20, device="cuda")
with peakline.phase("after"):
    del kept
    kept = torch.ones(1 << 20, device="cuda")
finish(
    peak=torch.cuda.max_memory_allocated(),
    path=str(trace.path),
    inner_exists=Path("inner.peak").exists(),
)
