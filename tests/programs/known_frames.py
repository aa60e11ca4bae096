"""Allocates in every kind of Python code and prints the stack that `traceback` saw there.

Each `keep(...)` allocates and asks `traceback.extract_stack()` on one line, so both have the same
frames. Prints {"stacks": [[bytes, [[file, line, function], ...leaf first]], ...]}.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import gc
import importlib.util
import itertools
import re
import signal
import tempfile
import threading
import traceback
import weakref
from pathlib import Path

import torch
from counters import finish_holding
from torch import nn
from torch.utils.checkpoint import checkpoint

kept: list[torch.Tensor] = []
stacks: list[tuple[int, traceback.StackSummary]] = []
sizes = itertools.count(700, 1031)
keeping = threading.Lock()


def new() -> int:
    """A size that no other allocation has."""
    return next(sizes)


def keep(block: torch.Tensor, stack: traceback.StackSummary) -> torch.Tensor:
    with keeping:
        kept.append(block)
        stacks.append((block.nbytes, stack))
    return block


def also(value: object, _kept: torch.Tensor) -> object:
    return value


make = functools.partial(torch.empty, dtype=torch.uint8, device="cuda")
here = traceback.extract_stack


def plain() -> None:
    keep(make(new()), here())
    for _ in range(3):
        keep(make(new()), here())
    [keep(make(new()), here()) for _ in range(2)]


def recursion(depth: int) -> None:
    if depth % 10 == 0:
        keep(make(new()), here())
    if depth:
        recursion(depth - 1)


def generators() -> None:
    def inner():
        keep(make(new()), here())
        yield 1
        keep(make(new()), here())

    def outer():
        yield from inner()

    steps = outer()
    next(steps)
    list(steps)
    sum(1 for _ in range(2) if keep(make(new()), here()) is not None)


def coroutines() -> None:
    async def leaf():
        keep(make(new()), here())
        await asyncio.sleep(0)
        keep(make(new()), here())

    async def numbers():
        for number in range(2):
            keep(make(new()), here())
            yield number

    async def main():
        await asyncio.gather(leaf(), leaf())
        async for _ in numbers():
            await leaf()

    asyncio.run(main())


def callbacks() -> None:
    sorted([2, 1], key=lambda _: len(keep(make(new()), here())))
    re.sub("a", lambda _: also("b", keep(make(new()), here())), "banana")
    functools.reduce(lambda _a, _b: keep(make(new()), here()), [1, 2])
    signal.signal(signal.SIGUSR1, lambda _number, _frame: keep(make(new()), here()))
    signal.raise_signal(signal.SIGUSR1)


class Dying:
    def __del__(self) -> None:
        keep(make(new()), here())


def classes() -> None:
    class Body:
        inside = keep(make(new()), here())

        def __getattr__(self, _name: str) -> torch.Tensor:
            return keep(make(new()), here())

        @property
        def shown(self) -> torch.Tensor:
            return keep(make(new()), here())

        @functools.cached_property
        def once(self) -> torch.Tensor:
            return keep(make(new()), here())

    body = Body()
    _ = body.unknown, body.shown, body.once
    dying = Dying()
    weakref.finalize(dying, lambda: keep(make(new()), here()))
    del dying
    ring = [Dying()]
    ring.append(ring)
    del ring
    gc.collect()


def contexts() -> None:
    @contextlib.contextmanager
    def around():
        keep(make(new()), here())
        try:
            yield
        finally:
            keep(make(new()), here())

    with contextlib.suppress(ValueError), around():
        raise ValueError
    try:
        raise KeyError
    except KeyError:
        keep(make(new()), here())


def made_code() -> None:
    names = {"keep": keep, "make": make, "new": new, "here": here}
    for number in range(3):
        source = "\n" * number + "def größe():\n    keep(make(new()), here())\ngröße()\n"
        exec(compile(source, f"<erzeugt {number}>", "exec"), dict(names))
    eval("keep(make(new()), here())", dict(names))
    long_way = "\n" * 70_000 + "keep(make(new()), here())\n"
    exec(compile(long_way, "long.py", "exec"), dict(names))


def imported_code() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "allocates_on_import.py")
        file.write_text("from __main__ import *\nkeep(make(new()), here())\n")
        spec = importlib.util.spec_from_file_location("allocates_on_import", file)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def threads() -> None:
    def work() -> None:
        keep(make(new()), here())

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: work(), range(4)))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        keep(make(new()), here())
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        keep(make(new()), here())
        return gradient


def autograd() -> None:
    weight = keep(torch.ones((), device="cuda"), here()).requires_grad_()
    weight.register_hook(lambda _: also(None, keep(make(new()), here())))
    Double.apply(weight).backward(retain_graph=True)
    pack = torch.autograd.graph.saved_tensors_hooks(
        lambda x: also(x, keep(make(new()), here())),
        lambda x: also(x, keep(make(new()), here())),
    )
    with pack:
        square = weight * weight
    square.backward()


class Noisy(nn.Module):
    def forward(self, x):
        keep(make(new()), here())
        return x.sin()


def modules() -> None:
    module = Noisy()
    module.register_forward_hook(lambda *_: also(None, keep(make(new()), here())))
    module.register_forward_pre_hook(lambda *_: also(None, keep(make(new()), here())))
    module.register_full_backward_hook(lambda *_: also(None, keep(make(new()), here())))
    x = keep(torch.ones((), device="cuda"), here()).requires_grad_()
    checkpoint(module, x, use_reentrant=False).backward()
    checkpoint(module, x, use_reentrant=True).backward()


def main() -> None:
    torch.cuda.init()
    for scene in (plain, generators, coroutines, callbacks, classes, contexts, made_code):
        scene()
    recursion(150)
    imported_code()
    threads()
    autograd()
    modules()
    for block in kept:
        block.grad = None
    told = [
        (size, [(frame.filename, frame.lineno, frame.name) for frame in reversed(stack)])
        for size, stack in stacks
    ]
    finish_holding(stacks=told)


if __name__ == "__main__":
    main()
