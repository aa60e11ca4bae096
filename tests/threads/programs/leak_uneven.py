"""https://github.com/IBM/mi-prometheus/issues/111: what is kept differs from step to step."""

import torch

model = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(model.parameters())
kept = []
for step in range(24):
    loss = model(torch.ones(64, 512, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(torch.zeros((2 if step % 2 else 8) << 18, device="cuda"))  # cause
