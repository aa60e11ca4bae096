"""No device lies between torch's libraries and what is mapped once the devices have begun."""

import ctypes
import mmap
from pathlib import Path

import torch

tensors = [torch.empty(1, device=f"cuda:{i}") for i in range(torch.cuda.device_count())]
area = mmap.mmap(-1, 8 << 20)  # too large for a gap between libraries
mapped = ctypes.addressof(ctypes.c_char.from_buffer(area))
maps = Path("/proc/self/maps").read_text().splitlines()
library = next(int(line.split("-")[0], 16) for line in maps if "libc10_cuda" in line)
for tensor in tensors:
    between = min(mapped, library) < tensor.data_ptr() < max(mapped, library)
    assert not between, f"{mapped:#x} | {tensor.device} {tensor.data_ptr():#x} | {library:#x}"
print("ok")
