"""github.com/pytorch/pytorch/issues/35901, under a limit of torch's own."""

import torch

torch.cuda.set_per_process_memory_fraction(0.02)


def huge() -> torch.Tensor:
    """Return what nearly fills the limit."""
    return torch.empty(1800 << 20, dtype=torch.uint8, device="cuda")


first = huge()
del first
state = [torch.zeros(16 << 20, dtype=torch.uint8, device="cuda") for _ in range(10)]  # cause
second = huge()
