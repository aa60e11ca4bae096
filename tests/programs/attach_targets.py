"""Forked children that train in four ways until a file appears; peakline is not in this program.

Arguments: the file. Each child prints what it is and what it computed: with a recording in between
or without, the same. The parent waits in native code.
"""

import hashlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import torch
from torch import nn

torch.set_num_threads(1)
END = Path(sys.argv[1])
NAMES = ["loop", "threads", "native", "lock"]


def cpu_weights() -> str:
    """Train a small model on the CPU; return a digest of its weights, always the same."""
    generator = torch.Generator().manual_seed(7)
    weights = torch.randn(32, 32, generator=generator, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=0.1, momentum=0.9)
    for _ in range(3):
        batch = torch.randn(16, 32, generator=generator)
        (batch @ weights).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return hashlib.sha256(weights.detach().numpy().tobytes()).hexdigest()


class Trainer:
    """A model on the GPU, and one on the CPU."""

    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256)).cuda()
        self.digests: set[str] = set()

    def step(self) -> None:
        self.model(torch.ones(128, 256, device="cuda")).sum().backward()
        self.model.zero_grad()
        self.digests.add(cpu_weights())
        time.sleep(0.2)


def train(trainer: Trainer) -> None:
    while not END.exists():
        trainer.step()


def in_native_code(trainer: Trainer) -> None:
    while not END.exists():
        time.sleep(1)
        trainer.step()


def with_threads(trainer: Trainer) -> None:
    others = [threading.Thread(target=train, args=(Trainer(),)) for _ in range(3)]
    for one in others:
        one.start()
    train(trainer)
    for one in others:
        one.join()


def in_a_lock(trainer: Trainer) -> None:
    done = threading.Lock()
    done.acquire()

    def work() -> None:
        train(trainer)
        done.release()

    threading.Thread(target=work).start()
    done.acquire()


def seen() -> set[str]:
    """Return names that a recording must not change."""
    return {*sys.path, *os.environ, *vars(sys.modules["__main__"])}


def run(name: str) -> None:
    ways = {"loop": train, "native": in_native_code, "threads": with_threads, "lock": in_a_lock}
    alarms: list[int] = []
    signal.signal(signal.SIGALRM, lambda *_: alarms.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    trainer = Trainer()
    trainer.step()
    before = seen()
    say({"ready": name, "pid": os.getpid()})
    ways[name](trainer)
    signal.setitimer(signal.ITIMER_REAL, 0)
    after = seen()
    torch.cuda.synchronize()
    unchanged = {
        "name": name,
        "digests": sorted(trainer.digests),
        "threads": [one.name for one in threading.enumerate()],
        "blocked": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "changed": sorted(before ^ after),
        "handles": repr(signal.getsignal(signal.SIGINT)),
        "held": torch.cuda.memory_allocated(),
    }
    say(unchanged)
    say({"name": name, "peak": torch.cuda.max_memory_allocated(), "alarmed": bool(alarms)})


def say(document: dict[str, object]) -> None:
    os.write(1, json.dumps(document).encode() + b"\n")


children = []
for name in NAMES:
    if not (child := os.fork()):
        run(name)
        sys.stdout.flush()
        os._exit(0)
    children.append(child)
statuses = [os.waitpid(child, 0)[1] for child in children]
sys.exit(f"statuses: {statuses}" if any(statuses) else 0)
