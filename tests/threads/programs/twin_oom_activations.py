"""The third batch is too large: activations fill the device, and the optimizer has a sliver."""

import torch

layers = [torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU()) for _ in range(8)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for batch in (64, 64, 40960):
    model(torch.zeros(batch, 1024, device="cuda")).mean().backward()  # cause
    optimizer.step()
    optimizer.zero_grad()
