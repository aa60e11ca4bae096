"""Too much is kept: the device is full, and nothing else is wrong."""

import torch

kept = [torch.zeros(64 << 20, device="cuda") for _ in range(20)]  # cause
