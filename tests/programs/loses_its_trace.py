"""Something happens to the trace while it is written: loses_its_trace.py HOW PATH.

Most of the program's blocks come after that; the last line is torch's own peak, the signals that
were heard, and the size of the program's own file.
"""

import json
import os
import resource
import signal
import sys

import torch

how, path = sys.argv[1:]
heard = []
for number in (signal.SIGXFSZ, signal.SIGBUS):
    signal.signal(number, lambda number, _frame: heard.append(number))


def allocate(count):
    for size in range(count):
        torch.empty(size + 1, dtype=torch.uint8, device="cuda")


allocate(30_000)
if how == "truncated":
    os.truncate(path, 0) if os.path.exists(path) else None
elif how == "cut":
    os.truncate(path, 300_000) if os.path.exists(path) else None
elif how == "removed":
    os.path.exists(path) and os.unlink(path)
elif how == "renamed":
    os.path.exists(path) and os.rename(path, path + ".renamed")
elif how == "replaced":
    with open(path + ".new", "w") as new:
        new.write("another program's\n")
    os.rename(path + ".new", path)
elif how == "folder removed":
    folder = os.path.dirname(path)
    os.path.exists(path) and os.unlink(path)
    os.path.exists(folder) and os.rmdir(folder)
elif how == "limited":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    try:
        with open("own", "wb", buffering=0) as own:
            own.write(bytes(1 << 20))
            own.write(b"too much")
    except OSError as error:
        heard.append(error.errno)
keep = torch.empty(10_000_000, dtype=torch.uint8, device="cuda")
# Beyond what was preallocated, where nothing else shows that the file cannot grow.
allocate(180_000 if how in ("limited", "not at all") else 40_000)
os.kill(os.getpid(), signal.SIGBUS)
size = os.path.getsize("own") if how == "limited" else 0
print(json.dumps({"peak": torch.cuda.max_memory_allocated(), "heard": heard, "size": size}))
