"""Allocates through Python, the autograd engine and a library; prints torch's own native stacks.

Usage: native_lines.py LIBRARY
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

os.environ["TORCH_SYMBOLIZE_MODE"] = "addr2line"

import torch

torch.cuda.memory._record_memory_history(stacks="all", context="alloc")
weight = torch.full((3 << 18,), 0.5, device="cuda", requires_grad=True)
held = weight.exp()
held.sum().backward()
assert ctypes.CDLL(sys.argv[1]).allocate_on_new_thread(5) == 0
torch.cuda.synchronize()

stacks: dict[int, list[str]] = {}
for segment in torch.cuda.memory._snapshot()["segments"]:
    for block in segment["blocks"]:
        if block["state"] == "active_allocated":
            stacks[block["address"]] = [frame["name"] for frame in block["frames"]]
print(json.dumps(list(stacks.values())))
sys.stdout.flush()
os._exit(0)
