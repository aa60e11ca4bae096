"""Calls switch_allocator() after CUDA was initialised, is refused, and goes on unharmed."""

import peakline
import torch
from counters import finish

kept = torch.ones(1 << 20, device="cuda")
try:
    peakline.switch_allocator()
    refusal = "not refused"
except peakline.RecorderError as error:
    refusal = str(error)
other = torch.ones(1 << 20, device="cuda")
finish(refusal=refusal, peak=torch.cuda.max_memory_allocated())
