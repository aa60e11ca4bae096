"""A training in which every name that a program chooses is the text of the variable HOSTILE.

Functions, files, modules, classes, a phase, a mark and a thread have it. A line grows from step to
step, and a request is refused.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

import peakline
import torch

HOSTILE = os.environ["HOSTILE"]
STEPS = 24
PR_SET_NAME = 15
SOURCE = "def allocate(size):\n    return torch.ones(size, device='cuda')\n"
KEPT: list[torch.Tensor] = []


def hostile_function() -> Callable[[int], torch.Tensor]:
    """Return a function with a hostile name, of a file with one."""
    space: dict[str, Any] = {"torch": torch}
    exec(compile(SOURCE, f"/data {HOSTILE}/{HOSTILE}.py", "exec"), space)
    function = space["allocate"]
    function.__code__ = function.__code__.replace(co_name=HOSTILE)
    with contextlib.suppress(AttributeError, TypeError):  # 3.10 has none
        function.__code__ = function.__code__.replace(co_qualname=f"Q.{HOSTILE}")
    return function


def hostile_model() -> torch.nn.Module:
    """Return a model whose class and layers have hostile names."""
    model = type(HOSTILE, (torch.nn.Sequential,), {})()
    for number in range(3):
        model.add_module(f"{number}{HOSTILE}", torch.nn.Linear(64, 64))
    return model.cuda()


def in_hostile_thread(allocate: Callable[[int], torch.Tensor]) -> None:
    """Allocate in a thread whose name is as much of the text as the kernel takes."""
    name = HOSTILE.encode()[-15:]
    ctypes.CDLL(None).prctl(PR_SET_NAME, ctypes.c_char_p(name))
    KEPT.append(allocate(3000))


def main() -> None:
    allocate, model = hostile_function(), hostile_model()
    thread = threading.Thread(target=in_hostile_thread, args=(allocate,), name=HOSTILE)
    thread.start()
    thread.join()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        with peakline.phase(HOSTILE):
            model(torch.ones(8, 64, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        peakline.mark(HOSTILE)
        KEPT.append(allocate(1000))
    with contextlib.suppress(torch.OutOfMemoryError):
        allocate(1 << 40)


main()
