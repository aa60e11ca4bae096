"""Forks many children while four threads allocate; every child must come to its end."""

import os
import threading

import torch
from counters import finish

FORKS = 60


def allocate(stop: threading.Event) -> None:
    while not stop.is_set():
        for size in (1000, 50_000, 3_000_000):
            torch.empty(size, dtype=torch.uint8, device="cuda")


def fork_once(number: int) -> int:
    child = os.fork()
    if child == 0:
        if number % 2:
            os._exit(7)
        bytearray(100_000)
        os.kill(os.getpid(), 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    held = torch.ones(1 << 25, dtype=torch.uint8, device="cuda")
    stop = threading.Event()
    threads = [threading.Thread(target=allocate, args=(stop,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    statuses = [fork_once(number) for number in range(FORKS)]
    stop.set()
    for thread in threads:
        thread.join()
    del held
    finish(peak=torch.cuda.max_memory_allocated(), statuses=statuses)


main()
