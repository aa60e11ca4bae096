"""Python that runs in the backward pass, below lines of the program that are all in this file.

torch's own routers of operators, a function of a library with a backward in Python, both kinds of
checkpointing, double backward through them, compiled code. Nothing else of the program runs there,
so each forward line owns all that its two passes allocate. Prints {"bytes": {forward line: bytes}},
"backward": the part of it made below backward(), and "compiled": whether code could be compiled.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from counters import finish_holding
from torch.utils.checkpoint import checkpoint

# Its file is not there: only the name counts.
LIBRARY = """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 + x.cos() * 0

def scale(x):
    return Scale.apply(x)
"""
library: dict[str, Any] = {}
exec(compile(LIBRARY, "/opt/lib/python3.11/site-packages/fused/ops.py", "exec"), library)

bytes_of: dict[int, int] = {}
backward_bytes: dict[int, int] = {}
kept: list[Any] = []


def allocated() -> int:
    return torch.cuda.memory_stats()["requested_bytes.all.allocated"]


def measured(run: Callable[[], torch.Tensor], twice: bool = False) -> None:
    """Both passes of what `run` makes; its line owns what they allocate."""
    before = allocated()
    result = run()
    forward = allocated() - before
    seed = torch.ones_like(result)
    between = allocated()
    if twice:
        (slope,) = torch.autograd.grad(result, made, seed, create_graph=True)
        second = torch.ones_like(slope)
        between += second.untyped_storage().nbytes()
        slope.backward(second)
    else:
        result.backward(seed)
    line = run.__code__.co_firstlineno
    backward_bytes[line] = allocated() - between
    bytes_of[line] = forward + backward_bytes[line]
    kept.append(result)


def leaf(*shape: int) -> torch.Tensor:
    return torch.ones(shape, device="cuda", requires_grad=True)


model = torch.nn.Sequential(torch.nn.Linear(96, 160), torch.nn.GELU(), torch.nn.Linear(160, 96))
model.cuda()
fast = torch.nn.Sequential(torch.nn.Linear(64, 80), torch.nn.Softmax(-1)).cuda()
compiled = torch.compile(fast)
made, other, x, y = leaf(4, 48, 48), leaf(4, 48, 48), leaf(1000, 96), leaf(512, 64)
# Workspaces belong to whoever comes first.
(torch.bmm(made, other).sum() + model(x).sum()).backward()
fast(y).sum().backward()

measured(lambda: torch.bmm(made, other))
measured(lambda: library["scale"](x))
measured(lambda: checkpoint(model, x, use_reentrant=False))
measured(lambda: checkpoint(model, x, use_reentrant=True))
measured(lambda: checkpoint(library["scale"], x, use_reentrant=True))
measured(lambda: torch.bmm(made, other), twice=True)
can_compile = "--compile" in sys.argv
if can_compile:
    compiled(y).sum().backward()
    measured(lambda: compiled(y))
finish_holding(bytes=bytes_of, backward=backward_bytes, compiled=can_compile, file=__file__)
