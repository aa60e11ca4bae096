"""Every layer is a checkpoint of its own."""

import torch
from torch.utils.checkpoint import checkpoint

layers = torch.nn.ModuleList(
    torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024))
    for _ in range(12)
).cuda()
optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)


def train_step():
    hidden = torch.randn(4096, 1024, device="cuda")
    for layer in layers:
        hidden = hidden + checkpoint(layer, hidden, use_reentrant=False)
    hidden.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()
