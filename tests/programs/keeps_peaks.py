"""Many allocations in named phases; prints torch's own peak of each phase and of the whole run.

Argument: "killed" ends it by SIGKILL after the last allocation, "refused" asks for too much at
first, anything else lets it end.
"""

import contextlib
import json
import os
import random
import signal
import sys

import peakline
import torch

EVENTS = 60_000
KIB = 1 << 10


def churn(generator: random.Random, most: int) -> None:
    """Keep up to ``most`` tensors alive; every step makes one and drops one."""
    live: list[torch.Tensor] = []
    for _ in range(EVENTS):
        live.append(torch.empty(generator.randint(1, 64) * KIB, dtype=torch.uint8, device="cuda"))
        if len(live) > most:
            live.pop(generator.randrange(len(live)))


def main() -> None:
    generator = random.Random(1)
    peaks: dict[str, int] = {}
    if sys.argv[1] == "refused":
        with contextlib.suppress(torch.OutOfMemoryError):
            torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
    for name, most in (("small", 20), ("large", 200), ("last", 50)):
        torch.cuda.reset_peak_memory_stats()
        with peakline.phase(name):
            churn(generator, most)
        peaks[name] = torch.cuda.max_memory_allocated()
    print(json.dumps({"peak": max(peaks.values()), "phases": peaks}), flush=True)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)


main()
