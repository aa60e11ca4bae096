"""Holds some memory, says so as JSON, and works until a file is there; prints how it went.

"handles": it has a handler of SIGUSR2 of its own. "ranks": as one of a job.
"""

import json
import os
import pathlib
import select
import signal
import sys

import torch
from counters import print_at_once

signals = []
if "handles" in sys.argv:
    signal.signal(signal.SIGUSR2, lambda *_: signals.append("own"))
rank = int(os.environ.get("RANK", "0"))
if "ranks" in sys.argv:
    torch.cuda.set_device(rank)
held = [torch.empty((rank + 1) << 20, dtype=torch.uint8, device="cuda") for _ in range(3)]
print_at_once({"rank": rank, "pid": os.getpid(), "peak": torch.cuda.max_memory_allocated()})
before = torch.cuda.memory_allocated()
stop = pathlib.Path(sys.argv[1])
while not stop.exists():
    held[0] = held[0] + 0
    select.select([], [], [], 0.01)
print(json.dumps({"signals": signals, "grew": torch.cuda.memory_allocated() - before}), flush=True)
