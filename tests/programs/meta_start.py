"""FSDP2 as its documents start it: sharded on the meta device, then filled. One rank."""

import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
torch.cuda.set_device(0)
first = torch.zeros(1, device="cuda")
dist.init_process_group("nccl")
with torch.device("meta"):
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
for layer in model:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
for layer in model:
    layer.reset_parameters()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.zeros(2, 64, device="cuda")).sum().backward()
    optimizer.step()
dist.destroy_process_group()
print(json.dumps({"peak_bytes": torch.cuda.max_memory_allocated()}))
