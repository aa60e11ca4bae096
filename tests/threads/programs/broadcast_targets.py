"""https://github.com/pytorch/pytorch/issues/16045: (N, 1) against (N) makes N by N."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).cuda()
optimizer = torch.optim.Adam(net.parameters())


def train_step():
    inputs = torch.randn(16000, 64, device="cuda")
    target = torch.randn(16000, device="cuda")
    (net(inputs) - target).abs().mean().backward()  # cause
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()
