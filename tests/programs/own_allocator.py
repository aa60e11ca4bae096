"""Installs peakline's plain allocator by hand; torch is told of malloc and free only."""

import peakline
import torch
from counters import finish

allocator = torch.cuda.memory.CUDAPluggableAllocator(
    peakline.library_path(), "peakline_malloc", "peakline_free"
)
torch.cuda.memory.change_current_allocator(allocator)


def empty(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device="cuda")


peakline.start_tracing()
kept = [empty(size) for size in (1000, 2_000_000, 77)]
gone = torch.empty(3_000_000, dtype=torch.uint8, device="cuda")
del gone
kept.append(torch.empty(10, dtype=torch.uint8, device="cuda"))
torch.cuda.synchronize()
peakline.report_stats(measure="requested")
finish(peak=1000 + 2_000_000 + 77 + 3_000_000)
