"""A library takes memory of the device before the recorder is there, and goes on.

The argument is the library: it has looked the driver up before (`hold`), and looks it up again
(`hold_by_new_lookup`). Prints what the driver says is in use at the end.
"""

import ctypes
import json
import sys

import peakline
import torch

MIB = 1 << 20

torch.cuda.init()
torch.cuda.mem_get_info()
library = ctypes.CDLL(sys.argv[1])
assert library.hold(30 * MIB) == 0
peakline.switch_allocator()
with peakline.trace(sys.argv[2]):
    held = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    assert library.hold(20 * MIB) == 0
    assert library.hold_by_new_lookup(12 * MIB) == 0
    more = torch.empty(32 * MIB, dtype=torch.uint8, device="cuda")
    free, total = torch.cuda.mem_get_info()
print(json.dumps({"used_bytes": total - free, "reserved_bytes": torch.cuda.memory_reserved()}))
