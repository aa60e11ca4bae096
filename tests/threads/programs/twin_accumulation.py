"""Gradients of four batches add up before a step."""

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step():
    for _ in range(4):
        (net(torch.randn(1024, 1024, device="cuda")).square().mean() / 4).backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(6):
    train_step()
