"""The program of the reference's examples: a small training with three habits to find.

It keeps each loss with its graph, so memory grows from step to step (not with --mended). Its
evaluation asks for more memory than any device has. Each rank has batches of its own size.
"""

from __future__ import annotations

import os
import sys

import torch

STEPS = 8
WIDTH = 256


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs + self.down(torch.relu(self.up(inputs)))


def train(model: torch.nn.Module, batch: int, mended: bool) -> list[torch.Tensor]:
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(STEPS):
        inputs = torch.ones(batch, WIDTH, device="cuda")
        loss = model(inputs).square().mean()
        loss.backward(retain_graph=not mended)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach() if mended else loss)
    return losses


def evaluate(model: torch.nn.Module, batch: int) -> str:
    try:
        with torch.no_grad():
            model(torch.ones(batch, WIDTH, device="cuda"))
    except torch.OutOfMemoryError:
        return f"a batch of {batch} does not fit"
    return f"a batch of {batch} fits"


def main() -> None:
    rank = int(os.environ.get("RANK", "0"))
    model = torch.nn.Sequential(Block(), Block(), Block()).cuda()
    losses = train(model, batch=512 * (1 + rank), mended="--mended" in sys.argv)
    print(f"{len(losses)} steps; {evaluate(model, batch=10**9)}")


if __name__ == "__main__":
    main()
