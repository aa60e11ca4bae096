"""Obtains segments and gives them back between marks; prints what torch reserved at each."""

import json

import peakline
import torch

MIB = 1 << 20
STEPS = (30, 64, 0, 5, -1, 100, 3, 0, 250)  # allocate; -1: give everything up; 0: and the cache


def allocate(count: int) -> torch.Tensor:
    return torch.empty(count, dtype=torch.uint8, device="cuda")


def main() -> None:
    said = []
    held = [allocate(MIB)]
    for number, size in enumerate(STEPS):
        torch.cuda.reset_peak_memory_stats()
        if size <= 0:
            held.clear()
        if size == 0:
            torch.cuda.empty_cache()
        # The last event before the mark is an allocation.
        held.append(allocate(max(size, 1) * MIB))
        peakline.mark(f"step {number}")
        reserved, most = torch.cuda.memory_reserved(), torch.cuda.max_memory_reserved()
        said.append({"reserved": reserved, "most": most})
    print(json.dumps({"steps": said, "peak": torch.cuda.max_memory_allocated()}))


main()
