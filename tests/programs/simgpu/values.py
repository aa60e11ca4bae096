"""What the host uploaded can be read back until a kernel may have written it."""

import ctypes

import torch

values = torch.tensor([1.0, 2.0, 3.0])
uploaded = values.cuda()
assert torch.equal(uploaded.cpu(), values)
assert uploaded[1].item() == 2.0
pinned = values.pin_memory()
assert pinned.to("cuda", non_blocking=True).cpu().tolist() == [1.0, 2.0, 3.0]
assert uploaded.clone().cpu().tolist() == [1.0, 2.0, 3.0]

uploaded.add_(1)
assert uploaded.cpu().tolist() == [0.0, 0.0, 0.0]
assert torch.nonzero(torch.ones(8, device="cuda")).shape == (0, 1)

# Parameters are opaque: a kernel for one tensor may have written any other.
bystander = values.cuda()
torch.zeros(3, device="cuda").add_(1)
assert bystander.cpu().tolist() == [0.0, 0.0, 0.0]

# The next tensor gets the same memory and must not show the old values.
again = values.cuda()
del again
fresh = torch.zeros(3, device="cuda")
assert fresh.tolist() == [0.0, 0.0, 0.0]

# What is filled is known like an upload, whatever lay there.
filled = torch.tensor([5, 6, 7, 8], dtype=torch.int32).cuda()
address = ctypes.c_uint64(filled.data_ptr())
driver = ctypes.CDLL("libcuda.so.1")
for value in (0, 0x02030405, 0):
    assert driver.cuMemsetD32_v2(address, ctypes.c_uint(value), ctypes.c_size_t(3)) == 0
    assert filled.tolist() == [value, value, value, 8]

large = torch.ones(1 << 20).cuda()
assert large.sum().item() == 0.0 and large[0].item() == 0.0
print("ok")
