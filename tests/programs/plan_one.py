"""Trains a model with layers h.0 to h.5. `twice`: each runs twice; `reentrant`: each is
checkpointed with reentrance.
"""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

CASE = sys.argv[1] if len(sys.argv) > 1 else ""


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(256)
        self.up, self.down = nn.Linear(256, 1024), nn.Linear(1024, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(64, 256)
        self.h = nn.ModuleList(Layer() for _ in range(6))
        self.head = nn.Linear(256, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for _ in range(2 if CASE == "twice" else 1):
            for layer in self.h:
                x = checkpoint(layer, x, use_reentrant=True) if CASE == "reentrant" else layer(x)
        return self.head(x)


model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    loss = model(torch.randn(8192, 64, device="cuda")).logsumexp(-1).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
