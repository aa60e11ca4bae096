"""Free memory lies in pieces, and all of it together would not serve the request either."""

import torch

kept = [torch.zeros(4 << 20, dtype=torch.uint8, device="cuda") for _ in range(400)]  # cause
del kept[::10]
torch.empty(1700 << 20, dtype=torch.uint8, device="cuda")
