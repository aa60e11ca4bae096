"""Allocates and frees so often that the trace outgrows a very small disk."""

import torch
from counters import finish

ROUNDS = 600_000


def main() -> None:
    kept = torch.empty(1 << 20, device="cuda")
    for _ in range(ROUNDS):
        torch.empty(1000, device="cuda")
    del kept
    finish(peak=torch.cuda.max_memory_allocated())


main()
