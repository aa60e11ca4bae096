"""A trainer puts CUDA tensors into a queue; a worker opens and keeps them."""

import os

import torch
import torch.multiprocessing as mp
from counters import print_at_once

MIB = 1 << 20


def report(role: str) -> None:
    peak = torch.cuda.max_memory_allocated()
    print_at_once({"role": role, "pid": os.getpid(), "max": peak})


def hold(tensors: mp.Queue, answers: mp.Queue) -> None:
    held = []
    while (one := tensors.get()) is not None:
        held.append(one)
        answers.put(one.numel())
    own = torch.ones(2 * MIB, device="cuda")
    report("worker")
    del held, one, own
    answers.put(0)


def main() -> None:
    context = mp.get_context("spawn")
    tensors, answers = context.Queue(), context.Queue()
    worker = context.Process(target=hold, args=(tensors, answers))
    worker.start()
    kept = [torch.empty(size * MIB, dtype=torch.uint8, device="cuda") for size in (32, 48, 64)]
    for one in kept[:2]:
        tensors.put(one)
        answers.get()
    tensors.put(None)
    answers.get()
    worker.join()
    report("trainer")


if __name__ == "__main__":
    main()
