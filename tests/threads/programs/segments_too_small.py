"""https://github.com/sgl-project/SpecForge/pull/739: every buffer is larger than any before it."""

import torch

model = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(model.parameters())
for step in range(20):
    scratch = torch.empty((32 + 2 * step) << 20, dtype=torch.uint8, device="cuda")  # cause
    del scratch
    model(torch.ones(64, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
