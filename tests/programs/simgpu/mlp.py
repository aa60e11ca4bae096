"""Three training steps of a small multilayer perceptron."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    loss = model(torch.randn(64, 512, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert loss.item() == 0.0
assert torch.cuda.max_memory_allocated() > 4 * sum(p.numel() * 4 for p in model.parameters())
print("ok", torch.cuda.max_memory_allocated())
