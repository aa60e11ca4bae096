"""Something happens to the trace while it is written: loses_its_trace.py HOW PATH.

Most of the program's blocks come after that; the last line is torch's own peak, the signals that
were heard, and the size of the program's own file.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path

import torch

how, trace = sys.argv[1], Path(sys.argv[2])
own = Path("own")
heard = []
for number in (signal.SIGXFSZ, signal.SIGBUS):
    signal.signal(number, lambda number, _frame: heard.append(number))


def allocate(count):
    for size in range(count):
        torch.empty(size + 1, dtype=torch.uint8, device="cuda")


def write_too_much():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    try:
        with own.open("wb", buffering=0) as file:
            file.write(bytes(1 << 20))
            file.write(b"too much")
    except OSError as error:
        heard.append(error.errno)


allocate(30_000)
if how == "limited":
    write_too_much()
elif trace.exists() and how in ("truncated", "cut"):
    os.truncate(trace, 0 if how == "truncated" else 300_000)
elif trace.exists() and how == "renamed":
    trace.rename(f"{trace}.renamed")
elif trace.exists() and how == "replaced":
    other = Path(f"{trace}.new")
    other.write_text("another program's\n")
    other.rename(trace)
elif trace.exists():
    trace.unlink()
    if how == "folder removed":
        trace.parent.rmdir()
keep = torch.empty(10_000_000, dtype=torch.uint8, device="cuda")
# Beyond what was preallocated, where nothing else shows that the file cannot grow.
allocate(180_000 if how in ("limited", "not at all") else 40_000)
os.kill(os.getpid(), signal.SIGBUS)
size = own.stat().st_size if own.exists() else 0
print(json.dumps({"peak": torch.cuda.max_memory_allocated(), "heard": heard, "size": size}))
