"""torch.cuda.MemPool: memory of its own, which goes with the pool."""

import torch

pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    inside = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
outside = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
assert any(
    s["address"] <= inside.data_ptr() < s["address"] + s["total_size"] for s in pool.snapshot()
)
assert torch.cuda.memory_allocated() == 16 << 20
del inside, outside, pool
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 0, torch.cuda.memory_reserved()
print("ok")
