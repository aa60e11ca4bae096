"""An FSDP2 training step and a tensor-parallel one; run with torchrun --nproc-per-node 2."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")


def train(model: nn.Module) -> None:
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.randn(32, 256, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


layers = [nn.Linear(256, 256).cuda() for _ in range(4)]
sharded = nn.Sequential(*layers)
for layer in layers:
    fully_shard(layer)
fully_shard(sharded)
train(sharded)
whole_bytes = 4 * (256 * 256 + 256) * 4
held_bytes = sum(p.to_local().numel() * 4 for p in sharded.parameters())
assert held_bytes * 2 == whole_bytes, held_bytes

mesh = init_device_mesh("cuda", (dist.get_world_size(),))
split = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
parallelize_module(split, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
train(split)
assert split[0].weight.to_local().shape == (512, 256)

dist.barrier()
dist.destroy_process_group()
print(f"ok rank {rank}", flush=True)
