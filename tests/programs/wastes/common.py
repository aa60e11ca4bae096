"""A small language model and its data; every program here ends with its losses and torch's peak."""

from __future__ import annotations

import json
from collections.abc import Iterator

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS = 512
# Sentences and words of each: on a simulated GPU nothing is computed.
SHAPE = (64, 128) if DEVICE == "cuda" else (4, 32)


class Block(nn.Module):
    """Attention and a perceptron, each added to what goes in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attend = nn.MultiheadAttention(width, 4, batch_first=True)
        self.think = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        normal = self.norms[0](values)
        values = values + self.attend(normal, normal, normal, need_weights=False)[0]
        return values + self.think(self.norms[1](values))


class Model(nn.Module):
    """Predicts the next word."""

    def __init__(self, width: int = 128, layers: int = 4) -> None:
        super().__init__()
        torch.manual_seed(1)
        width //= 1 if DEVICE == "cuda" else 4
        self.embed = nn.Embedding(WORDS, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(layers)))
        self.head = nn.Linear(width, WORDS)
        self.to(DEVICE)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.embed(words)))


def loss_of(logits: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """The mean loss of predicting the next word."""
    return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:].flatten())


def batches(count: int, seed: int = 2, size: tuple[int, int] = SHAPE) -> Iterator[torch.Tensor]:
    """Batches of words: `size` is sentences and words of each."""
    random = torch.Generator().manual_seed(seed)
    for _ in range(count):
        yield torch.randint(WORDS, size, generator=random).to(DEVICE)


def finish(losses: list[float]) -> None:
    """Print losses and torch's peak."""
    peak = torch.cuda.max_memory_allocated() if DEVICE == "cuda" else 0
    print(json.dumps({"losses": losses, "peak_bytes": peak}))
