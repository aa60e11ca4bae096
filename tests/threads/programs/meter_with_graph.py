"""https://github.com/visionml/pytracking/pull/313: a meter adds up values with their graphs."""

import torch


class Meter:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        self.total = self.total + value


net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.Tanh()).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
meter = Meter()
for _ in range(16):
    outputs = net(torch.ones(2048, 512, device="cuda"))
    meter.update((outputs - 1).square().mean())  # cause
    outputs.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
