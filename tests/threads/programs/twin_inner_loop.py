"""A few steps of an inner loop, differentiated as a whole."""

import torch
from torch.nn.functional import linear

weight = torch.nn.Parameter(torch.randn(512, 512, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)


def outer_step():
    fast = weight
    for _ in range(3):
        loss = linear(torch.randn(1024, 512, device="cuda"), fast).square().mean()
        (slope,) = torch.autograd.grad(loss, fast, create_graph=True)
        fast = fast - 0.01 * slope
    linear(torch.randn(1024, 512, device="cuda"), fast).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(6):
    outer_step()
