"""The features of the step before live until those of the next step are ready."""

import torch
from common import DEVICE, finish
from torch import nn

SIDE = 256 if DEVICE == "cuda" else 32
torch.manual_seed(1)
encoder = nn.Sequential(nn.Conv2d(3, 16, 3), nn.GELU()).to(DEVICE)
head = nn.Conv2d(16, 16, 3).to(DEVICE)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
random = torch.Generator().manual_seed(2)
losses = []
for _ in range(4):
    frames = torch.rand((16, 3, SIDE, SIDE), generator=random).to(DEVICE)
    with torch.no_grad():
        features = encoder(frames)
    loss = head(features[::8]).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
finish(losses)
