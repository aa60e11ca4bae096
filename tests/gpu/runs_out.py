"""Runs out of GPU memory: caught ("caught"), or not ("uncaught"). Prints what torch counted."""

import json
import sys

import torch


def fill(held: list[torch.Tensor]) -> None:
    while True:
        held.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))


held: list[torch.Tensor] = []
torch.cuda.init()
total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction(min(1.0, (8 << 30) / total))
if sys.argv[1] == "uncaught":
    fill(held)
try:
    fill(held)
except torch.OutOfMemoryError as error:
    first_words = str(error).split(". ")[0]
statistics = torch.cuda.memory_stats()
print(
    json.dumps(
        {
            "message": first_words,
            "held": len(held),
            "peak_bytes": torch.cuda.max_memory_allocated(),
            "out_of_memory_count": statistics["num_ooms"],
            "retries": statistics["num_alloc_retries"],
        }
    )
)
