"""Pinned memory holds real data, and so do copies of it through the device."""

import torch

host = torch.arange(1000, dtype=torch.float32).pin_memory()
assert host.is_pinned()
assert host.sum().item() == 499500.0
device = host.to("cuda", non_blocking=True)
back = torch.empty(1000).pin_memory()
back.fill_(7)
back.copy_(device, non_blocking=True)
torch.cuda.synchronize()
assert back.equal(host)
back.copy_(device * 2, non_blocking=True)
torch.cuda.synchronize()
assert back.abs().sum().item() == 0.0
assert host.clone().pin_memory().equal(host)
print("ok")
