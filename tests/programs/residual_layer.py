"""The layer that several programs build their models from."""

import torch
from torch import nn

WIDTH = 256


class Layer(nn.Module):
    """Two projections around an activation, and a residual."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, hidden)
        self.act = nn.GELU()
        self.down = nn.Linear(hidden, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(self.act(self.up(x)))
