"""github.com/pytorch/pytorch/issues/111729: one request is larger than the limit itself."""

import torch

torch.cuda.set_per_process_memory_fraction(0.05)
torch.empty(8 << 30, dtype=torch.uint8, device="cuda")  # cause
