"""Forks children that initialise CUDA, allocate without end, and leave from a C signal handler.

Arguments: the library made of exit_handler.cpp, and how many children. Prints how they ended; one
that hangs is killed after a minute.
"""

import ctypes
import json
import os
import signal
import sys

import torch

library = ctypes.PyDLL(sys.argv[1])
library.leave_after.argtypes = [ctypes.c_int64]


def allocate_until_the_end(microseconds: int) -> None:
    kept = [torch.empty(size, device="cuda") for size in (1000, 3_000_000)]
    library.leave_after(microseconds)
    while kept:
        torch.empty(1000, device="cuda")


def child_status(number: int) -> int:
    child = os.fork()
    if child == 0:
        allocate_until_the_end(2000 + 137 * number)
        os._exit(1)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(60)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(0)
    return status


print(json.dumps({"statuses": [child_status(number) for number in range(int(sys.argv[2]))]}))
