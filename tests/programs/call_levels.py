"""Trains a small model and prints what torch's counters say around its calls.

`stages`: before and after every module's forward, every backward pass and step of the optimizer.
`ops`: after every operator of the last step that allocates, as a dispatch mode sees them; the step
before it ran the same operators unseen. `layers`: the highest level while each module without
children runs, in forward passes only. `late`: the stages of one forward
pass, in a trace of its own.
"""

import sys
import time
from typing import Any

import peakline
import torch
from counters import finish_holding
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

STEPS = 3
WIDTH = 256
seen: list[list[Any]] = []
step = 0


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, width)
        self.act = nn.GELU()
        self.down = nn.Linear(width, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # No residual: under a dispatch mode autograd would sum its gradients out of place.
        return self.down(self.act(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(512 * n) for n in (3, 5, 7))
        self.head = nn.Sequential(nn.Linear(WIDTH, 1536), nn.Softmax(dim=-1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def levels() -> list[int]:
    return [
        torch.cuda.memory_allocated(),
        torch.cuda.memory_reserved(),
        torch.cuda.max_memory_allocated(),
        torch.cuda.max_memory_reserved(),
    ]


def note(module: str, stage: str) -> None:
    made = torch.cuda.memory_stats()["allocation.all.allocated"]
    seen.append([step, module, stage, *levels(), made])


def watch_stages(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for path, module in model.named_modules():
        name = path or "Model"
        module.register_forward_pre_hook(lambda *_, name=name: note(name, "pre forward"))
        module.register_forward_hook(lambda *_, name=name: note(name, "post forward"))
    optimizer.register_step_pre_hook(lambda *_: note("optimizer", "pre step"))
    optimizer.register_step_post_hook(lambda *_: note("optimizer", "post step"))


class Watch(TorchDispatchMode):
    """Notes what is allocated after each operator that allocates."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ARG002
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        result = func(*args, **(kwargs or {}))
        stats = torch.cuda.memory_stats()
        if stats["allocation.all.allocated"] != before:
            active = stats["active_bytes.all.current"]
            seen.append([func.__name__, torch.cuda.memory_allocated(), active])
        return result


def train(model: nn.Module, optimizer: torch.optim.Optimizer, stages: bool) -> None:
    batch = torch.randn(128, WIDTH, device="cuda")
    loss = model(batch).square().mean()
    if stages:
        note("Model", "pre backward")
    loss.backward()
    if stages:
        note("Model", "post backward")
    optimizer.step()
    optimizer.zero_grad()


def watch_peaks(model: nn.Module) -> None:
    for path, module in model.named_modules():
        if not list(module.children()):
            module.register_forward_pre_hook(
                lambda *_: torch.cuda.reset_peak_memory_stats() or None
            )
            module.register_forward_hook(
                lambda *_, name=path: seen.append([name, torch.cuda.max_memory_allocated()])
            )


def main(what: str) -> None:
    global step
    if what == "late":
        peakline.switch_allocator()
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    if what == "layers":
        watch_peaks(model)
        for rows in (64, 256, 32):
            model(torch.randn(rows, WIDTH, device="cuda")).sum()
        finish_holding(seen=seen)
    if what == "late":
        watch_stages(model, optimizer)
        with peakline.trace("late.peak") as trace:
            model(torch.randn(64, WIDTH, device="cuda")).sum()
        finish_holding(seen=seen, trace=str(trace.path.resolve()))
    if what == "stages":
        watch_stages(model, optimizer)
    for step in range(STEPS):
        if what == "ops" and step == STEPS - 1:
            with Watch():
                train(model, optimizer, stages=False)
        else:
            train(model, optimizer, stages=what == "stages")
    time.sleep(0.3)
    finish_holding(seen=seen)


if __name__ == "__main__":
    main(sys.argv[1])
