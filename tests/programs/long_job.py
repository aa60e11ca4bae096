"""A long job: one line grows by a block in every step, and a request is refused early and caught.

Usage: long_job.py optimizer|marks|none whole|killed STEPS. The last line that it prints is JSON:
`peak`, torch's own; `steps`, torch's highest level in each of them; `ends`, its level after each;
`refused`, what was live when a request was refused.
"""

import contextlib
import json
import os
import signal
import sys

import peakline
import torch

kind, end, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
REFUSED_IN = 7
DEVICE = "cuda"

torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)]).to(DEVICE)
optimizer = torch.optim.Adam(model.parameters())
kept, said = [], {"steps": [], "ends": [], "refused": []}


def compute() -> None:
    loss = model(torch.randn(32, 64, device=DEVICE)).square().mean()
    if kind == "optimizer":
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    kept.append(loss.detach().repeat(512))  # this line grows


def churn() -> None:
    for size in range(300):
        torch.empty(256 * (1 + size % 40), device=DEVICE)


highest = 0
for step in range(count):
    if kind == "marks":
        peakline.step()
    torch.cuda.reset_peak_memory_stats()
    compute()
    churn()
    if step == REFUSED_IN:
        said["refused"].append(torch.cuda.memory_allocated())
        with contextlib.suppress(torch.OutOfMemoryError):
            torch.empty(1 << 50, dtype=torch.uint8, device=DEVICE)
    said["steps"].append(torch.cuda.max_memory_allocated())
    said["ends"].append(torch.cuda.memory_allocated())
    highest = max(highest, said["steps"][-1])

said["peak"] = highest
print(json.dumps(said), flush=True)
if end == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
