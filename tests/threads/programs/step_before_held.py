"""Outputs of the step before live on.

https://github.com/Lightning-AI/pytorch-lightning/issues/9336
"""

import torch

net = torch.nn.Linear(512, 16384).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step():
    outputs = net(torch.ones(4096, 512, device="cuda"))  # cause
    outputs.logsumexp(1).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    return outputs


for _ in range(5):
    outputs = train_step()
