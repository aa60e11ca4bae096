"""Trains, and is recorded from the middle on: CUDA is initialised, and memory is held already.

Arguments: `trace` and a path, or `start`. Between the hooks and torch's snapshot, and between that
and its hand-over, it frees old blocks and makes new ones. Prints what torch counted.
"""

import io
import sys
import threading
from pathlib import Path

import peakline
import peakline._recorder as recorder
import torch
from counters import finish, peaks
from peakline.api import torch_support
from torch import nn

MIB = 1 << 20


def hold(count: int) -> torch.Tensor:
    return torch.empty(count, dtype=torch.uint8, device="cuda")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(1024, 2048)
        self.second = nn.Linear(2048, 1024)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(batch).relu())


def train_step(model: Net, optimizer: torch.optim.Optimizer, batch: torch.Tensor) -> None:
    model(batch).square().mean().backward()
    optimizer.step()


old = {name: hold(MIB * size + 1) for size, name in enumerate("ABCDE", start=2)}
model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters())
batch = torch.randn(512, 1024, device="cuda")
train_step(model, optimizer, batch)
optimizer.zero_grad()
ask_torch = torch_support.held_memory
between: dict[str, torch.Tensor] = {}


def held_memory_of_a_busy_program() -> torch_support.Held:
    del old["A"]
    between["freed later"] = hold(11 * MIB)
    between["kept"] = hold(13 * MIB + 1)
    held = ask_torch()
    del old["B"], between["freed later"]
    between["after"] = hold(3 * MIB)  # where B was
    return held


def work() -> None:
    """The traced range."""
    del old["C"]
    big = hold(64 * MIB)
    del old["D"]
    del big
    for _ in range(2):
        train_step(model, optimizer, batch)
    told["range"] = peaks()


def run_threads() -> list[threading.Thread]:
    """Threads that allocate and free as long as the recording begins."""

    def churn() -> None:
        kept = []
        while not is_recording.is_set():
            kept = [hold(MIB * size + 1) for size in range(1, 5)]
        del kept

    threads = [threading.Thread(target=churn) for _ in range(2)]
    for thread in threads:
        thread.start()
    return threads


told: dict[str, object] = {}
is_recording = threading.Event()
torch_support.held_memory = held_memory_of_a_busy_program
if sys.argv[1] == "trace":
    path = Path(sys.argv[2])
    with peakline.trace(path):
        told["at_start"] = [torch.cuda.memory_allocated(), recorder.device_bytes(0, 0, 0)]
        told["requested_at_start"] = [
            torch.cuda.memory_stats()["requested_bytes.all.current"],
            recorder.device_bytes(0, 1, 0),
        ]
        torch.cuda.reset_peak_memory_stats()
        work()
else:
    torch_support.prepare()  # nobody churns while something is compiled
    threads = run_threads()
    peakline.switch_allocator()
    is_recording.set()
    for thread in threads:
        thread.join()
    told["at_start"] = [torch.cuda.memory_allocated(), recorder.device_bytes(0, 0, 0)]
    peakline.start_tracing()
    torch.cuda.reset_peak_memory_stats()
    work()
    peakline.stop_tracing()
    text = io.StringIO()
    peakline.report_stats(file=text)
    told["report"] = text.getvalue()
    told["peak"] = recorder.device_bytes(0, 0, 1)
told["status"] = vars(peakline.status())
told["at_end"] = [torch.cuda.memory_allocated(), recorder.device_bytes(0, 0, 0)]
finish(**told)
