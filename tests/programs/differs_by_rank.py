"""Trains a little: layers and batch grow with RANK. Prints torch's own peak."""

import json
import os

import torch

RANK = int(os.environ.get("RANK", "0"))


def main() -> None:
    width = 256
    model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(2 + RANK)))
    model.cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        batch = torch.randn(4096 * (1 + RANK), width, device="cuda")
        model(batch).relu().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    only = [torch.empty(1 << 20, device="cuda")] if RANK == 1 else []
    print(json.dumps({"peak": torch.cuda.max_memory_allocated(), "only": len(only)}))


main()
