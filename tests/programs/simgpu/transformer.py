"""A training step of nn.TransformerEncoder."""

import torch
from torch import nn

layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
model = nn.TransformerEncoder(layer, 4).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    loss = model(torch.randn(8, 128, 256, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("ok", torch.cuda.max_memory_allocated())
