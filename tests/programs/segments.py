"""Obtains segments and gives them back; says how many torch counted. Argument: what to do."""

import json
import sys

import torch

MIB = 1 << 20


def grow_and_shrink() -> None:
    held = [torch.empty(size * MIB, dtype=torch.uint8, device="cuda") for size in (1, 30, 64)]
    del held[1:]
    torch.cuda.empty_cache()
    again = torch.empty(100 * MIB, dtype=torch.uint8, device="cuda")
    del again, held
    torch.cuda.empty_cache()


what = sys.argv[1]
torch.empty(1, device="cuda")
if what == "switch to expandable":
    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    torch.empty(8 * MIB, dtype=torch.uint8, device="cuda")  # the recorder notices here
grow_and_shrink()
counters = torch.cuda.memory_stats()
print(
    json.dumps(
        {
            "segments": counters["segment.all.allocated"] + counters["segment.all.freed"],
            "peak": torch.cuda.max_memory_allocated(),
        }
    )
)
