"""One block for each way in which a program keeps memory alive, each of a size of its own.

Prints, by size of the block, what peakline.holders() said; see tests/e2e/test_holders.py.
"""

import collections
import gc
import json
import sys
import threading

import peakline
import torch

MIB = 2 << 20
device = "cuda"


def make(size):
    return torch.zeros(size * MIB, dtype=torch.uint8, device=device)


class Slots:
    __slots__ = ("keys", "values")

    def __init__(self):
        self.keys = [make(30)]
        self.values = {}


class Inline:
    def __init__(self):
        self.name = "inline"
        self.first = make(31)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(make(32).float()[:1].clone().new_zeros(32 * MIB // 4))
        self.cache = Slots()
        self.cached = make(33)
        self.register_buffer("table", make(34))


class Node:
    def __init__(self):
        self.other = None
        self.data = None


class Registry:
    entries = {"first": make(35)}


def with_default(size=3, kept=make(36), *, keyword=make(37)):  # noqa: B008
    return size, kept, keyword


def make_closure():
    hidden = make(38)

    def inner():
        return hidden

    return inner


def generate():
    held = make(39)
    yield 1
    del held


def fail():
    lost = make(40)
    raise ValueError(str(lost.numel()))


def keep_traceback():
    try:
        fail()
    except ValueError as error:
        return error


def make_cycle():
    one, two = Node(), Node()
    one.other, two.other = two, one
    two.data = make(41)


def in_thread(ready, done):
    local.data = make(42)
    waits = make(43)
    ready.set()
    done.wait()
    del waits


losses = [None, None, make(44)]
by_name = {"a": {3: make(45)}, ("b", 1): make(46)}
queue = collections.deque([1, 2, make(47)])
model = torch.nn.Sequential(collections.OrderedDict(attention=Attention()))
inline = Inline()
closure = make_closure()
suspended = generate()
next(suspended)
last_error = keep_traceback()
local = threading.local()
activations = []
model.attention.register_forward_hook(lambda *_: activations.append(make(48)))
in_set = {make(49)}
graphs = []


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.own = make(51)
        ctx.save_for_backward(torch.zeros(52 * MIB // 4, device=device))
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def make_graph():
    x = torch.zeros(50 * MIB // 4, device=device, requires_grad=True)
    y = x.exp()  # saves its result: a block without an object of Python
    graphs.append(y.sum())
    graphs.append(Scale.apply(torch.zeros(1, device=device, requires_grad=True)))


def main():
    batch = make(53)
    gc.disable()
    make_cycle()
    make_graph()
    for hook in model.attention._forward_hooks.values():
        hook()
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=in_thread, args=(ready, done))
    thread.start()
    ready.wait()
    found = peakline.holders(blocks=60, seconds=600)
    done.set()
    thread.join()
    said = {
        str(block.requested_bytes // MIB): [[h.kind, h.path] for h in block.holders]
        for block in found.blocks
        if block.requested_bytes >= MIB
    }
    print(
        json.dumps(
            {
                "said": said,
                "complete": found.is_complete,
                "number": found.number,
                "seconds": found.seconds,
                "objects": found.object_count,
                "batch": batch.numel(),
            }
        )
    )


if __name__ == "__main__":
    main()
    sys.stdout.flush()
