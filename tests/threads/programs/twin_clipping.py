"""Gradients are clipped before every step."""

import torch

net = torch.nn.LSTM(128, 512, num_layers=2).cuda()
optimizer = torch.optim.RMSprop(net.parameters())


def train_step():
    outputs, _ = net(torch.randn(64, 32, 128, device="cuda"))
    outputs.square().mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


for _ in range(8):
    train_step()
