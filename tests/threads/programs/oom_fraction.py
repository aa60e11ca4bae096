"""github.com/pytorch/pytorch/issues/111729: out of memory on a device with plenty free.

The program limits itself: torch may use a twentieth of the device.
"""

import torch

torch.cuda.set_per_process_memory_fraction(0.05)
kept = [torch.empty(512 << 20, dtype=torch.uint8, device="cuda") for _ in range(6)]  # cause
torch.empty(5 << 30, dtype=torch.uint8, device="cuda")
