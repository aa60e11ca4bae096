"""A metric beside the loss is logged with its graph.

https://github.com/pdearena/pdearena/issues/4
"""

import torch

net = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
history = []


def train_step(inputs, target):
    outputs = net(inputs)
    metric = (outputs - target).abs().pow(1.5).mean()  # cause
    outputs.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    return metric


for _ in range(16):
    inputs = torch.ones(8192, 512, device="cuda")
    history.append(train_step(inputs, torch.zeros(8192, 512, device="cuda")))
