"""Metrics of every step are kept as floats."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.Tanh()).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
history = []


def train_step():
    outputs = net(torch.randn(2048, 512, device="cuda"))
    loss = outputs.square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    history.append({"loss": loss.item(), "largest": float(outputs.detach().amax())})


for _ in range(16):
    train_step()
