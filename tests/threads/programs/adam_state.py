"""https://github.com/pytorch/pytorch/issues/9439: Adam runs out of memory where SGD does not."""

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(6)]).cuda()
optimizer = torch.optim.Adam(net.parameters(), fused=True)
for _ in range(3):
    net(torch.ones(64, 4096, device="cuda")).square().mean().backward()
    optimizer.step()  # cause
    optimizer.zero_grad()
