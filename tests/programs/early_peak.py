"""Holds most at its begin, and makes many events after it. Prints torch's peak as JSON."""

import json

import torch

model = torch.nn.Linear(512, 512, device="cuda")
parameters = torch.cuda.memory_allocated()
torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
batch = torch.randn(64, 512, device="cuda")
for _ in range(400):
    model(batch).sum().backward()
    model.zero_grad()
    for _ in range(700):
        torch.empty(1024, device="cuda")
print(json.dumps({"peak": torch.cuda.max_memory_allocated(), "parameters": parameters}))
