"""Holds a MemPool with free memory at the end; says what torch has in it."""

import json

import torch

MIB = 1 << 20


def make(mib: int) -> torch.Tensor:
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


kept = make(30)
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    inside = [make(3), make(40), make(5)]
del inside[1]
snapshot = torch.cuda.memory_snapshot(pool.id)
print(
    json.dumps(
        {
            "reserved": torch.cuda.memory_reserved(),
            "free_in_pool": sum(one["total_size"] - one["active_size"] for one in snapshot),
        }
    )
)
torch.cuda.synchronize()
