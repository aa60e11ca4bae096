"""FSDP2, sharded on the meta device, as its documents start it."""

import os

import torch
import torch.distributed as dist
from _peak import finish
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (dist.get_world_size(),))
with torch.device("meta"):
    layers = [nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(3)]
    model = nn.Sequential(*layers)
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
for layer in model:
    fully_shard(layer, mesh=mesh, mp_policy=policy)
fully_shard(model, mesh=mesh, mp_policy=policy)
model.to_empty(device="cuda")
for parameter in model.parameters():
    nn.init.normal_(parameter, std=0.02)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    loss = model(torch.randn(8, 128, 256, device="cuda")).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
finish(loss.shape)
dist.destroy_process_group()
