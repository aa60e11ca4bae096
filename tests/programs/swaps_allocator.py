"""Replaces torch's allocator by its own, as a program may: the library with it is the argument."""

import sys

import torch
from counters import finish

allocator = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "own_malloc", "own_free")
torch.cuda.memory.change_current_allocator(allocator)
kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in (1000, 2_000_000)]
total = (torch.ones(10, device="cuda") * 2).sum()
total.item()
finish(count=len(kept), backend=torch.cuda.get_allocator_backend())
