"""A training loop in functions."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)
).cuda()
optimizer = torch.optim.AdamW(net.parameters())


def train_step():
    loss = net(torch.randn(2048, 512, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


losses = [train_step() for _ in range(12)]
