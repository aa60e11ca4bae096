"""Writes so many long notes that the trace outgrows a very small disk.

With the argument "refused" it then asks for more than the device has.
"""

import sys

import peakline
import torch
from counters import finish


def main() -> None:
    kept = torch.empty(1 << 20, device="cuda")
    del kept
    for number in range(2000):
        peakline.mark(f"{number:08d} " * 400)
    if sys.argv[1:] == ["refused"]:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    kept = torch.empty(1 << 10, device="cuda")
    finish(peak=torch.cuda.max_memory_allocated(), kept=kept.numel())


main()
