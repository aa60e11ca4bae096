"""Uses CUDA first where the GIL is not held. Arguments: who, and a library for native threads.

Says on which line memory was allocated, and what torch counted up to then and in all.
"""

import ctypes
import os
import sys
import threading

import torch
from counters import finish

RENDEZVOUS = {"MASTER_ADDR": "localhost", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1"}


def process_group():
    os.environ.update(RENDEZVOUS)
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    torch.cuda.set_device(0)


def device_mesh():
    os.environ.update(RENDEZVOUS)
    torch.distributed.init_device_mesh("cuda", (1,))


def native_thread():
    allocates = ctypes.PyDLL(sys.argv[2]).allocate_on_new_thread  # this thread keeps the GIL
    assert allocates(3) == 0


def killed():
    ctypes.PyDLL(sys.argv[2]).allocate_and_die(3)


def in_thread():
    """All is done in a thread that this one waits for."""
    thread = threading.Thread(target=allocate_after, args=(lambda: torch.ones(1).pin_memory(),))
    thread.start()
    thread.join()


def allocate_after(first):
    first()
    torch.cuda.init()  # else torch's counters are not asked
    before = torch.cuda.memory_allocated()
    kept = torch.ones(3 << 18, device="cuda")
    line = sys._getframe().f_lineno - 1
    finish(before=before, line=line, peak=torch.cuda.max_memory_allocated(), sum=kept.numel())


FIRST = {
    "process group": process_group,
    "device mesh": device_mesh,
    "native": native_thread,
    "killed": killed,
}

if sys.argv[1] == "thread":
    in_thread()
else:
    allocate_after(FIRST[sys.argv[1]])
