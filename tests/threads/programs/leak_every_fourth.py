"""https://github.com/pytorch/pytorch/issues/13613: evaluation outputs stay on the device."""

import torch

model = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(model.parameters())
results = []
for step in range(40):
    model(torch.ones(64, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 4 == 3:
        results.append(torch.zeros(1 << 20, device="cuda"))  # cause
