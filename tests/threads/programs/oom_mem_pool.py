"""github.com/pytorch/pytorch/issues/159674: out of memory while a MemPool has memory to spare.

The segments of the pool are its own, also when nothing lies in them.
"""

import torch

pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    first = torch.empty(1500 << 20, dtype=torch.uint8, device="cuda")
del first
second = torch.empty(1600 << 20, dtype=torch.uint8, device="cuda")  # cause
