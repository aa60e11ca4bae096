"""Makes torch ask for ever larger segments, keeps a block in each, and gives one segment back.

Prints torch's own segments after the third step began, and at the end.
"""

import json

import peakline
import torch

MIB = 1 << 20


def segments() -> dict[int, list[int]]:
    return {
        one["address"]: [one["total_size"], one["allocated_size"]]
        for one in torch.cuda.memory_snapshot()
    }


def work(step: int) -> torch.Tensor:
    temporary = torch.empty((12 + 4 * step) * MIB, dtype=torch.uint8, device="cuda")
    del temporary
    return torch.empty((9 + 4 * step) * MIB, dtype=torch.uint8, device="cuda")


kept = []
returned = torch.empty(300 * MIB, dtype=torch.uint8, device="cuda")
for step in range(8):
    peakline.step()
    if step == 3:
        then = segments()
    if step == 5:
        del returned
        torch.cuda.empty_cache()
    kept.append(work(step))
print(json.dumps({"then": then, "now": segments()}))
