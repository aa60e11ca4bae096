"""A thread frees its tensors while a request is refused again and again, which is looked into.

The last line that it prints is JSON: `kept`, how often a freed tensor still had its block.
"""

import contextlib
import json
import threading
import time

import torch

DEVICE = "cuda"
heap = [[] for _ in range(300_000)]  # a look at all objects takes long
torch.zeros(1, device=DEVICE)
is_over = threading.Event()
said = {"kept": 0}


def free_blocks() -> None:
    while not is_over.is_set():
        before = torch.cuda.memory_allocated()
        block = torch.empty(1 << 20, device=DEVICE)
        time.sleep(0.001)
        del block
        said["kept"] += torch.cuda.memory_allocated() != before


thread = threading.Thread(target=free_blocks)
thread.start()
for _ in range(20):
    with contextlib.suppress(torch.OutOfMemoryError):
        torch.empty(1 << 50, dtype=torch.uint8, device=DEVICE)
    time.sleep(0.05)
is_over.set()
thread.join()
print(json.dumps(said), flush=True)
