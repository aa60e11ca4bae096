"""Sends itself SIGUSR2 and prints what it can see of its own objects before and after.

A search for holders (`peakline run --hold`) must change nothing of it; without one the same signal
is handled by a function that does nothing.
"""

import gc
import json
import os
import signal
import sys
import threading
import weakref

import torch

deaths = []
asked = []


class Proxy:
    """Notices whoever asks it for anything."""

    def __init__(self):
        self.held = torch.zeros(1 << 18, device="cuda")

    def __getattribute__(self, name):
        asked.append(name)
        return object.__getattribute__(self, name)

    def __eq__(self, other):
        asked.append("__eq__")
        return False

    def __hash__(self):
        asked.append("__hash__")
        return 1

    def __repr__(self):
        asked.append("__repr__")
        return "proxy"


class Mortal:
    def __init__(self, name):
        self.name = name
        self.itself = self
        self.data = torch.zeros(1 << 16, device="cuda")

    def __del__(self):
        deaths.append(self.name)


class Meta(type):
    def __getattribute__(cls, name):
        asked.append(name)
        return type.__getattribute__(cls, name)


class WithMeta(metaclass=Meta):
    tensor = None


def generate():
    inner = torch.zeros(1 << 17, device="cuda")
    yield inner.numel()


proxy = Proxy()
keyed = {proxy: [torch.zeros(1 << 19, device="cuda")]}
WithMeta.tensor = torch.zeros(1 << 20, device="cuda")
parameter = torch.nn.Parameter(torch.zeros(1 << 15, device="cuda"))
loss = (parameter * 2).exp().sum()
generator = generate()
next(generator)
watched = [proxy, keyed, parameter, loss, generator, WithMeta, deaths, torch.zeros]


def hooked(tensor):
    asked.append("unpack")
    return tensor


with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, hooked):
    packed = (parameter * parameter).sum()


def observe():
    asked.clear()
    seen = {
        "enabled": gc.isenabled(),
        "threshold": gc.get_threshold(),
        "stats": gc.get_stats(),
        "refcounts": [sys.getrefcount(thing) for thing in watched],
        "ids": [id(thing) for thing in watched],
        "weakrefs": [weakref.getweakrefcount(thing) for thing in (proxy, parameter)],
        "frozen": gc.get_freeze_count(),
        "garbage": len(gc.garbage),
        "threads": threading.active_count(),
        "attributes": sorted(object.__getattribute__(proxy, "__dict__")),
        "allocated": torch.cuda.memory_allocated(),
        "deaths": list(deaths),
    }
    asked.clear()
    return seen


def search_thrice():
    for name in "abc":
        Mortal(name)
    before = observe()
    counts = []
    known = {id(thing) for thing in gc.get_objects()}
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGUSR2)
        counts.append(gc.get_count()[0])
    left = [type(thing).__name__ for thing in gc.get_objects() if id(thing) not in known]
    noticed = list(asked)
    after = observe()
    return before, after, noticed, counts, left


if "without" in sys.argv:
    signal.signal(signal.SIGUSR2, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR2)  # the first time modules and parameters get names
gc.collect()
seen_before, seen_after, noticed, counts, left = search_thrice()
gc.collect()
print(
    json.dumps(
        {
            "before": seen_before,
            "after": seen_after,
            "noticed": noticed,
            "left": left,
            "growth": counts[-1] - counts[0],
            "deaths": deaths,
        }
    ),
    flush=True,
)
