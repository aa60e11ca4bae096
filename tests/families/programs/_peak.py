"""The last line of every program: its result and torch's own peak, of this rank."""

import os
import sys

import torch


def finish(result: object, before: int = 0) -> None:
    """`before`: the peak until the counter was reset, in bytes."""
    torch.cuda.synchronize()
    peak = max(torch.cuda.max_memory_allocated(), before)
    rank = os.environ.get("RANK", "0")
    # One write: torchrun's ranks write at the same time.
    sys.stdout.write(f"rank {rank}: {result}, max_memory_allocated {peak}\n")
    sys.stdout.flush()
