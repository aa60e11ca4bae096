"""Pinned memory that is almost twice what the tensors need.

https://github.com/pytorch/pytorch/issues/95823: blocks of pinned memory are powers of two.
"""

import torch

torch.zeros(1, device="cuda")
batches = [torch.empty(70 << 20, dtype=torch.uint8, pin_memory=True) for _ in range(4)]  # cause
on_device = [batch.cuda(non_blocking=True) for batch in batches]
torch.cuda.synchronize()
print(torch.cuda.host_memory_stats()["allocated_bytes.current"])
