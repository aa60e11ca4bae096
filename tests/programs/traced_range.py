"""Traces only its middle part through the API and prints the table itself: [before] [after].

Sizes are whole megabytes, so the table's text is known beforehand.
"""

import sys

import peakline
import torch

MEGABYTE = 1 << 20


def allocate(megabytes: int) -> torch.Tensor:
    return torch.empty(megabytes * MEGABYTE, dtype=torch.uint8, device="cuda")


peakline.switch_allocator()
if "under-run" in sys.argv:
    torch.cuda.init()
    peakline.stop_tracing()
before = [allocate(3), allocate(5)]
peakline.start_tracing()
during = [allocate(20), allocate(12), allocate(10)]
passing = torch.empty(30 * MEGABYTE, dtype=torch.uint8, device="cuda")
del passing, before[0]
peakline.stop_tracing()
after = allocate(500)
if "report" in sys.argv:
    peakline.report_stats()
else:
    peakline.report_stats(at="end", measure="requested")
