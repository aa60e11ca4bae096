"""Averaged weights beside the trained ones."""

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(6)]).cuda()
average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.99))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step():
    net(torch.randn(512, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update_parameters(net)


for _ in range(8):
    train_step()
