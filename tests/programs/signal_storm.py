"""Trains, waits, reads, and starts children while SIGUSR2 comes thousands of times, to any thread.

Argument: how many signals. Prints as JSON what it computed, which is the same without any, how many
were sent, and how many of them to other threads than the main one.
"""

import ctypes
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from typing import Any

import torch

COUNT = int(sys.argv[1])
SYS_TGKILL = 234
TASKS = pathlib.Path(f"/proc/{os.getpid()}/task")


def send_from_child() -> int:
    """Fork a process that sends them; it says through the returned pipe when it has."""
    program = os.getpid()
    reader, writer = os.pipe()
    child = os.fork()
    if child != 0:
        os.close(writer)
        return reader
    libc = ctypes.CDLL(None)
    chooser = random.Random(7)
    to_others = 0
    for _ in range(COUNT):
        thread = int(chooser.choice([task.name for task in TASKS.iterdir()]))
        if libc.syscall(SYS_TGKILL, program, thread, signal.SIGUSR2) == 0:
            to_others += thread != program
        time.sleep(0.001)
    os.write(writer, str(to_others).encode())
    os._exit(0)


def train(digest: Any) -> None:
    torch.manual_seed(0)
    on_cpu = torch.nn.Linear(64, 64)
    on_gpu = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(3)]).cuda()
    optimizer = torch.optim.SGD(on_cpu.parameters(), lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        loss = on_cpu(torch.ones(8, 64)).square().mean()
        loss.backward()
        optimizer.step()
        on_gpu(torch.randn(32, 64, device="cuda")).sum().backward()
        digest.update(repr(loss.item()).encode())


def wait_and_read() -> str:
    """Native calls that a signal interrupts."""
    begin = time.monotonic()
    time.sleep(0.2)
    slept = time.monotonic() - begin >= 0.2
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # the signals come here, too
        for _ in range(50 if COUNT else 0):
            os.kill(os.getpid(), signal.SIGUSR2)
        time.sleep(0.1)
        os.write(writer, b"from the child")
        os._exit(7)
    os.close(writer)
    text = os.read(reader, 100).decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said = subprocess.run(["sh", "-c", "sleep 0.1; echo done"], stdout=subprocess.PIPE, check=True)
    return f"{slept} {text} {status} {said.stdout.decode().strip()}"


train(hashlib.sha256())  # the threads of the autograd engine are there, and what is imported late
digest = hashlib.sha256()
told = send_from_child() if COUNT else None
waits = []
for _ in range(3):
    train(digest)
    waits.append(wait_and_read())
to_others = int(os.read(told, 100)) if told is not None else 0
peak = torch.cuda.max_memory_allocated()
said = {"digest": digest.hexdigest(), "waits": waits, "to_others": to_others, "peak": peak}
print(json.dumps(said), flush=True)
