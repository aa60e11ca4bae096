"""A larger evaluation after every fifth step."""

import torch

model = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(model.parameters())
for step in range(30):
    model(torch.ones(64, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 5 == 4:
        with torch.no_grad():
            seen = [model(torch.ones(4096, 512, device="cuda")) for _ in range(4)]
            best = torch.stack(seen).mean()
            del seen
