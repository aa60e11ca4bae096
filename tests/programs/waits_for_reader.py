"""Allocates, says torch's own counters as a line of JSON, and waits for a line; three times."""

import json
import sys

import torch

held = []
for blocks in (2, 3, 4):
    held += [torch.empty(blocks << 20, dtype=torch.uint8, device="cuda") for _ in range(blocks)]
    del held[:1]
    said = {
        "level": torch.cuda.memory_allocated(),
        "peak": torch.cuda.max_memory_allocated(),
        "blocks": len(held),
    }
    print(json.dumps(said), flush=True)
    sys.stdin.readline()
