"""A DDP training step; run with torchrun --nproc-per-node 2. The ranks meet on the host."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = DistributedDataParallel(nn.Linear(256, 256).cuda(), device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(32, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
values = torch.ones(16, device="cuda")
dist.all_reduce(values)
dist.broadcast(values, 0)
dist.barrier()
assert values.abs().sum().item() == 0.0
dist.destroy_process_group()
print(f"ok rank {rank}", flush=True)
