"""Allocates and frees at random and keeps count itself, for allocators whose counters say little.

Prints the peak of the sum of requested sizes, and torch's own peak where it has one.
"""

import random

import torch
from counters import finish_holding


def main() -> None:
    choose = random.Random(7)
    kept: list[torch.Tensor] = []
    live = peak = allocated_count = 0
    for _ in range(3000):
        if kept and choose.random() < 0.47:
            live -= kept.pop(choose.randrange(len(kept))).nbytes
        else:
            size = int(2 ** choose.uniform(0, 21))
            kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            allocated_count += 1
            live += size
            peak = max(peak, live)
    finish_holding(
        peak=peak,
        live=live,
        live_count=len(kept),
        backend=torch.cuda.get_allocator_backend(),
        stats=torch.cuda.memory_stats().get("allocated_bytes.all.peak", 0),
    )


if __name__ == "__main__":
    main()
