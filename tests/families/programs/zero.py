"""DeepSpeed ZeRO; the argument is the stage."""

import os
import sys

import deepspeed
import torch
from _peak import finish
from torch import nn

deepspeed.init_distributed("nccl")
model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)])
settings = {
    "train_micro_batch_size_per_gpu": 32,
    "zero_optimization": {"stage": int(sys.argv[1])},
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
}
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
for _ in range(3):
    x = torch.randn(32, 1024, device=f"cuda:{os.environ['LOCAL_RANK']}", dtype=torch.bfloat16)
    loss = engine(x).float().square().mean()
    engine.backward(loss)
    engine.step()
finish(loss.shape)
torch.distributed.destroy_process_group()
