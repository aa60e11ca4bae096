"""Trains some steps and keeps what it should not: losses with their graphs.

Arguments: `signal` sends itself SIGUSR2 after the last step; `handles` sets a handler of its own;
`fails` runs out of memory at the end. Prints what it kept.
"""

import json
import os
import signal
import sys

import torch

STEPS = 4
kept = []


def train():
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU()).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        batch = torch.zeros(4096, 1024, device="cuda")
        loss = model(batch).float().mean()
        kept.append(loss)
        loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()


def own_handler(*_):
    print("own handler")


if "handles" in sys.argv:
    signal.signal(signal.SIGUSR2, own_handler)
torch.zeros(1, device="cuda")
train()
if "signal" in sys.argv:
    os.kill(os.getpid(), signal.SIGUSR2)
if "fails" in sys.argv:
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        print("out of memory")
print(json.dumps({"kept": len(kept)}), flush=True)
