"""Trains for ever, more bytes every step; prints torch's own peak after each. Someone kills it.

Arguments: how it dies by itself after 20 steps (segfault, abort, exit), or nothing: never.
"""

import ctypes
import json
import os
import resource
import sys

import torch

MIB = 1 << 20


def die(how: str) -> None:
    if how == "segfault":
        ctypes.string_at(0)
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(5)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    weight = torch.ones(256, 256, device="cuda", requires_grad=True)
    number = 0
    while True:
        number += 1
        grown = torch.empty(number * MIB, dtype=torch.uint8, device="cuda")
        batch = torch.randn(64, 256, device="cuda")
        (batch @ weight).square().mean().backward()
        with torch.no_grad():
            weight.sub_(weight.grad)
        weight.grad = None
        torch.cuda.synchronize()
        said = {"step": number, "pid": os.getpid(), "peak": torch.cuda.max_memory_allocated()}
        print(json.dumps(said), flush=True)
        del grown
        if number == 20:
            die(how)


main()
