"""Holds blocks of a few sizes and prints their sum, their lines and the allocator's name."""

import sys

import torch
from counters import finish

line = sys._getframe().f_lineno
large = torch.empty(9_000_001, dtype=torch.uint8, device="cuda")
small = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in (1000, 77, 5_000_000)]
passing = torch.empty(1_000_000, dtype=torch.uint8, device="cuda")
del passing
more = torch.empty(999_999, dtype=torch.uint8, device="cuda")
finish(
    peak=9_000_001 + 5_001_077 + 1_000_000,
    lines=[line + 1, line + 2, line + 3],
    backend=torch.cuda.get_allocator_backend(),
)
