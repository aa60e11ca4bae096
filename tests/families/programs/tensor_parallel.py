"""Tensor parallelism: the mesh is made before anything else touches CUDA."""

import os

import torch
import torch.distributed as dist
from _peak import finish
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(1024, 4096)
        self.down = nn.Linear(4096, 1024)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
model = parallelize_module(Mlp().cuda(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
for _ in range(3):
    loss = model(torch.randn(64, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
finish(loss.shape)
dist.destroy_process_group()
