"""fp16 with a GradScaler: found_inf reads zero, so the steps are taken and the scale stays."""

import torch
from torch import nn

model = nn.Linear(128, 128).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for _ in range(3):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(torch.randn(32, 128, device="cuda")).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print("ok")
