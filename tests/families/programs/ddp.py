"""DistributedDataParallel; `late`: the process group is made before the device is set."""

import os
import sys

import torch
import torch.distributed as dist
from _peak import finish
from torch import nn
from torch.nn.parallel import DistributedDataParallel

local_rank = int(os.environ["LOCAL_RANK"])
if sys.argv[1] == "early":
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
parallel = DistributedDataParallel(model, device_ids=[local_rank])
optimizer = torch.optim.AdamW(parallel.parameters())
for _ in range(3):
    loss = parallel(torch.randn(256, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
finish(loss.shape)
dist.destroy_process_group()
