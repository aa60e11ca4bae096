"""One request is larger than the device."""

import torch

torch.zeros(16 << 30, device="cuda")  # cause
