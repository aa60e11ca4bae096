"""https://github.com/recursionpharma/gflownet/pull/130: every trajectory is pushed as it is."""

import torch

net = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
buffer = []


def sample():
    with torch.no_grad():
        return net(torch.randn(2048, 1024, device="cuda"))  # cause


for _ in range(20):
    trajectory = sample()
    buffer.append(trajectory)
    net(trajectory).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
