"""Leaves many blocks live on two devices and prints torch's own snapshot of them."""

import random

import torch
from counters import finish_holding

choose = random.Random(3)
kept = []
for _ in range(800):
    device = choose.randrange(torch.cuda.device_count())
    size = int(2 ** choose.uniform(0, 23))
    kept.append(torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}"))
    if choose.random() < 0.3:
        kept.pop(choose.randrange(len(kept)))

blocks: dict[int, list[int]] = {device: [] for device in range(torch.cuda.device_count())}
for segment in torch.cuda.memory._snapshot()["segments"]:
    for block in segment["blocks"]:
        if block["state"] == "active_allocated":
            blocks[segment["device"]].append(block["size"])
requested = {
    device: torch.cuda.memory_stats(device)["requested_bytes.all.current"] for device in blocks
}
finish_holding(blocks=blocks, requested=requested)
