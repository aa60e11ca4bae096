"""Optimizer state and caches of the first steps, nothing more."""

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
kept = []
for step in range(24):
    model(torch.ones(64, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step < 4:
        kept.append(torch.zeros(1 << 20, device="cuda"))
