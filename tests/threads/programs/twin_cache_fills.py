"""A cache of eight entries that fills."""

import torch

model = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(model.parameters())
cache = {}
for step in range(30):
    model(torch.ones(64, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    cache[step % 8] = torch.zeros(1 << 20, device="cuda")
