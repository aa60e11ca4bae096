"""The adapted weight is made anew for every expert.

https://github.com/huggingface/peft/pull/2912
"""

import torch

base = torch.randn(2048, 2048, device="cuda")
down = torch.nn.Parameter(torch.zeros(8, 2048, device="cuda"))
up = torch.nn.Parameter(torch.zeros(2048, 8, device="cuda"))
optimizer = torch.optim.SGD([down, up], lr=0.1)


def train_step():
    inputs = torch.randn(64, 2048, device="cuda", requires_grad=True)
    total = 0
    for _ in range(24):
        weight = base + up @ down  # cause
        total = total + torch.nn.functional.linear(inputs, weight).square().mean()
    total.backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()
