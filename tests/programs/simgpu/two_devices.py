"""Two devices: each has its own memory, and copies go between them."""

import torch

assert torch.cuda.device_count() == 2
first = torch.randn(1024, 1024, device="cuda:0")
second = first.to("cuda:1")
assert second.device.index == 1
assert torch.cuda.memory_allocated(0) == torch.cuda.memory_allocated(1) == 4 << 20
first.copy_(second)
with torch.cuda.device(1):
    third = torch.zeros(8, device="cuda")
assert third.device.index == 1
del second, third
assert torch.cuda.memory_allocated(1) == 0
torch.cuda.synchronize(1)
assert torch.cuda.can_device_access_peer(0, 1)
print("ok")
