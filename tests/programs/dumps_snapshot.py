"""Trains, frees blocks that another stream uses, and prints what torch's own recorder saw.

Arguments: a file for torch's snapshot, and how many actions torch keeps; or none.
"""

import json
import os
import sys

import torch


def seen() -> dict[str, object]:
    snapshot = torch.cuda.memory._snapshot()
    segments = [
        {
            "address": one["address"],
            "total_size": one["total_size"],
            "stream": one["stream"],
            "allocated_size": one["allocated_size"],
            "active_size": one["active_size"],
            "blocks": [
                [block["address"], block["size"], block["state"]] for block in one["blocks"]
            ],
        }
        for one in snapshot["segments"]
    ]
    actions = [
        [one["action"], one.get("addr"), one["size"]] for one in snapshot["device_traces"][0]
    ]
    return {"segments": segments, "actions": actions, "peak": torch.cuda.max_memory_allocated()}


def main() -> None:
    kept = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=kept)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    side = torch.cuda.Stream()
    for _ in range(2):
        batch = torch.randn(128, 512, device="cuda")
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.cuda.stream(side):
            late = batch * 2
        batch.record_stream(side)
        del batch, late, loss
    held = [torch.empty(3 << 20, device="cuda"), torch.empty(1000, device="cuda")]
    said = seen()
    if len(sys.argv) > 1:
        torch.cuda.memory._dump_snapshot(sys.argv[1])
    print(json.dumps(said), flush=True)
    os._exit(0 if held else 1)  # nothing is freed after what was written


if __name__ == "__main__":
    main()
