"""Writes so many long notes that the trace outgrows a very small disk."""

import peakline
import torch
from counters import finish


def main() -> None:
    kept = torch.empty(1 << 20, device="cuda")
    del kept
    for number in range(2000):
        peakline.mark(f"{number:08d} " * 400)
    kept = torch.empty(1 << 10, device="cuda")
    finish(peak=torch.cuda.max_memory_allocated(), kept=kept.numel())


main()
