"""https://github.com/pytorch/pytorch/issues/97712: the optimizer makes copies of all parameters."""

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(12)]).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(4):
    net(torch.ones(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()  # cause
    optimizer.zero_grad()
