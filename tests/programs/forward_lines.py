"""Backward makes a gradient of a size of its own for each forward line; prints which for which.

Prints {"gradients": {forward line: bytes}}; all gradients are live at the end.
"""

import sys

import torch
from counters import finish_holding


def leaf(*shape: int) -> torch.Tensor:
    """A parameter; `bytes_of` its gradient belong to the line that calls `used`."""
    return torch.ones(shape, device="cuda", requires_grad=True)


def used(*leaves: torch.Tensor) -> None:
    line = sys._getframe(1).f_lineno
    gradients[line] = gradients.get(line, 0) + sum(4 * one.numel() for one in leaves)


def nested(x: torch.Tensor) -> torch.Tensor:
    return used(x) or x.tanh().sum()


def forward() -> torch.Tensor:
    total = used(x[0]) or x[0].sin().sum()
    total = total + (used(x[1]) or x[1].exp().sum())
    total = total + (used(x[2], x[3]) or (x[2] @ x[3]).sum())
    total = total + nested(x[4])
    total = total + (used(x[5]) or torch.nn.functional.gelu(x[5]).sum())
    total = total + (used(x[6]) or (x[6].view(-1)[5:700] ** 3).sum())
    for one in x[7:]:
        total = total + (used(one) or one.cos().sum())
    return total


gradients: dict[int, int] = {}
shapes = [(1001,), (2003,), (300, 41), (41, 77), (5009,), (7001,), (9001,), (211,), (8111,)]
x = [leaf(*shape) for shape in shapes]
forward().backward()
torch.cuda.synchronize()
# Some versions of torch give the backward thread a cuBLAS workspace of its own.
torch._C._cuda_clearCublasWorkspaces()
assert all(one.grad is not None for one in x)
finish_holding(gradients=gradients)
