"""Trains for ten steps of different sizes, keeps something of each; prints torch's own counters.

FIRST and LAST: the steps between which torch's peak is measured. "two": with two optimizers.
"""

import json
import sys

import torch

first, last = int(sys.argv[1]), int(sys.argv[2])
STEPS = 10
MIB = 1 << 20

model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 512)).to("cuda")
optimizers = [torch.optim.AdamW(model.parameters())]
if "two" in sys.argv:
    other = torch.nn.Linear(64, 64, device="cuda")
    optimizers.append(torch.optim.SGD(other.parameters()))
kept = []
figures = {"steps": 0}


def note_step(step: int) -> None:
    """After this step."""
    if step == first - 1:
        torch.cuda.reset_peak_memory_stats()
        figures["held_before"] = torch.cuda.memory_allocated()
    if step == last:
        figures["peak"] = torch.cuda.max_memory_allocated()
        figures["held_after"] = torch.cuda.memory_allocated()
        figures["reserved"] = torch.cuda.memory_reserved()
    figures["steps"] = step


for step in range(1, STEPS + 1):
    # The steps beside those that are recorded are larger, the peak is in the first one.
    rows = {1: 4096, 2: 4096, 4: 4096, 5: 3072, 9: 8192}.get(step, 256 * step)
    kept.append(torch.empty(step * MIB, dtype=torch.uint8, device="cuda"))
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss = model(torch.ones(rows, 512, device="cuda")).sum()
    if "two" in sys.argv:
        loss = loss + other(torch.ones(rows, 64, device="cuda")).sum()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    note_step(step)
print(json.dumps(figures))
