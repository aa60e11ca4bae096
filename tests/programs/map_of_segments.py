"""Fragments memory, by two streams; says what torch has of every segment, at peak and end."""

import json

import torch

MIB = 1 << 20


def make(mib: float) -> torch.Tensor:
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def segments() -> list[dict[str, int]]:
    found = []
    for one in torch.cuda.memory_snapshot():
        holes = []
        for block in one["blocks"]:
            if block["state"] != "inactive":
                holes.append(0)
            elif holes and holes[-1]:
                holes[-1] += block["size"]
            else:
                holes.append(block["size"])
        found.append(
            {
                "address": one["address"],
                "bytes": one["total_size"],
                "used": one["active_size"],
                "stream": one["stream"],
                "blocks": sum(block["state"] != "inactive" for block in one["blocks"]),
                "holes": sum(size > 0 for size in holes),
                "largest": max(holes),
            }
        )
    return sorted(found, key=lambda one: one["address"])


def state() -> dict[str, object]:
    return {
        "reserved": torch.cuda.memory_reserved(),
        "allocated": torch.cuda.memory_allocated(),
        "active": torch.cuda.memory_stats()["active_bytes.all.current"],
        "segments": segments(),
    }


held = [make(mib) for mib in (0.3, 30, 3, 5, 0.5, 7, 0.2, 64)]
del held[1], held[3]
other = torch.cuda.Stream()
with torch.cuda.stream(other):
    held += [make(mib) for mib in (9, 0.4, 12)]
del held[-3]
held += [make(mib) for mib in (4, 100)]
at_peak = state()
assert torch.cuda.memory_allocated() == torch.cuda.max_memory_allocated()
del held[2:5]
torch.cuda.empty_cache()
print(json.dumps({"peak": at_peak, "end": state()}))
