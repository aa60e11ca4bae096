"""https://github.com/pytorch/pytorch/issues/147449: one checkpoint holds the whole model."""

import torch
from torch.utils.checkpoint import checkpoint

net = torch.nn.Sequential(
    *[torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU()) for _ in range(16)]
).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step():
    inputs = torch.randn(16384, 1024, device="cuda")
    checkpoint(net, inputs, use_reentrant=False).mean().backward()  # cause
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()
