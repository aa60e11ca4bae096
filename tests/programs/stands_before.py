"""Obtains segments in the way that a word says, does much else, and says what torch has then.

Its bounded traces no longer hold the records of those segments.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import torch
from torch import nn

MIB = 1 << 20
CHURN = int(os.environ["CHURN"])  # times a hundred blocks that come and go


def empty(mib: float) -> torch.Tensor:
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def segments() -> list[dict[str, int]]:
    found = [
        {
            "address": one["address"],
            "bytes": one["total_size"],
            "used": one["active_size"],
            "stream": one["stream"],
            "blocks": sum(block["state"] != "inactive" for block in one["blocks"]),
        }
        for one in torch.cuda.memory_snapshot()
    ]
    return sorted(found, key=lambda one: one["address"])


def moment() -> dict[str, object]:
    """Say what is in use now; nothing happens for a while before and after it."""
    time.sleep(0.003)
    free, total = torch.cuda.mem_get_info()
    said = {
        "monotonic_ns": time.monotonic_ns(),
        "used": total - free,
        "reserved": torch.cuda.memory_reserved(),
        "allocated": torch.cuda.memory_allocated(),
        "active": torch.cuda.memory_stats()["active_bytes.all.current"],
        "segments": segments() if torch.cuda.get_allocator_backend() == "native" else None,
    }
    time.sleep(0.003)
    return said


def train() -> list[object]:
    net = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        net(torch.zeros(512, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [net, optimizer]


def pieces() -> list[object]:
    held = [empty(mib) for mib in (0.3, 30, 3, 5, 0.5, 7, 0.2, 64, 25, 12)]
    del held[1], held[3]
    torch.cuda.empty_cache()
    return [*held, empty(1.5)]


def streams() -> list[object]:
    held = pieces()
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        held += [empty(mib) for mib in (9, 0.4, 12)]
    held[-2].record_stream(torch.cuda.current_stream())
    return [*held, other]


def pools() -> list[object]:
    held = pieces()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        held += [empty(mib) for mib in (3, 0.1, 22)]
        del held[-1]
    return [*held, pool]


def graphs() -> list[object]:
    held = pieces()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        held.append(empty(11) * 2)
    return [*held, graph]


torch.neg(empty(0.1))  # launches load code, which the driver shows at the next request
held = globals()[sys.argv[1]]()
hundred = [empty(0.0005) for _ in range(100)]
for _ in range(CHURN):
    torch._foreach_neg(hundred)
moments = [moment()]
held.append(empty(40))
del held[0]
torch.cuda.empty_cache()
moments.append(moment())
most = empty(600)
torch.cuda.empty_cache()
moments.append(moment())
small = empty(0.1)  # an event behind the last moment, also where the program is killed
os.write(1, f"{json.dumps({'moments': moments})}\n".encode())
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
