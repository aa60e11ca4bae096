"""A limit is set, and another reason: the device is full of the memory of others."""

import torch

torch.cuda.set_per_process_memory_fraction(0.9)
kept = [torch.zeros(64 << 20, device="cuda") for _ in range(20)]  # cause
