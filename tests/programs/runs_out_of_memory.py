"""Runs out of memory: with a batch too large, caught and tried again smaller, and between holes.

Prints torch's counters and the device's at each refused request, as torch's own observer saw them.
"""

import contextlib
import json

import torch

MB = 1 << 20
refused: list[dict[str, int]] = []


def note(_device: int, asked: int, total: int, free: int) -> None:
    refused.append(
        {
            "asked": asked,
            "free": free,
            "total": total,
            "allocated": torch.cuda.memory_allocated(),
            "reserved": torch.cuda.memory_reserved(),
        }
    )


def train(model: torch.nn.Module, rows: int) -> None:
    model(torch.randn(rows, 1024, device="cuda")).sum().backward()


def train_as_much_as_fits(model: torch.nn.Module) -> None:
    optimizer = torch.optim.Adam(model.parameters())
    rows = 1 << 20
    for _ in range(2):
        while True:
            try:
                train(model, rows)
                break
            except torch.OutOfMemoryError:
                rows //= 4
        optimizer.step()
        optimizer.zero_grad()


def main() -> None:
    torch.cuda.init()
    torch._C._cuda_attach_out_of_memory_observer(note)
    model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(4))).cuda()
    train_as_much_as_fits(model)
    torch.cuda.empty_cache()
    held = [torch.empty(3 * MB, dtype=torch.uint8, device="cuda") for _ in range(1400)]
    del held[::2]
    free, _ = torch.cuda.mem_get_info()
    with contextlib.suppress(torch.OutOfMemoryError):
        torch.empty(free + 200 * MB, dtype=torch.uint8, device="cuda")
    print(json.dumps({"refused": refused, "held": len(held)}))


main()
