"""Calls switch_allocator() after CUDA was initialised, and is recorded from then on."""

import peakline
import torch
from counters import finish

kept = torch.ones(1 << 20, device="cuda")
peakline.switch_allocator()
other = torch.ones(1 << 20, device="cuda")
finish(
    backend=peakline.status().backend,
    note=peakline.status().note,
    peak=torch.cuda.max_memory_allocated(),
)
