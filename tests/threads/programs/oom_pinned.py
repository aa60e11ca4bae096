"""github.com/pytorch/pytorch/issues/35901: half of the GPU cannot be used.

Small state that stays was cut out of the segment of a huge tensor that is gone.
"""

import torch


def huge() -> torch.Tensor:
    """Return what nearly fills the device."""
    return torch.empty(1800 << 20, dtype=torch.uint8, device="cuda")


first = huge()
del first
state = [torch.zeros(16 << 20, dtype=torch.uint8, device="cuda") for _ in range(10)]  # cause
second = huge()
