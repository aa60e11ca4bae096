"""Runs out of memory in the way of its first argument; prints what torch said at each refusal.

torch's own observer takes the snapshot, so figures are those of the very moment.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

MB = 1 << 20
refusals: list[dict[str, Any]] = []


def note(_device: int, asked: int, total: int, free: int) -> None:
    segments = torch.cuda.memory_snapshot()
    refusals.append(
        {
            "asked": asked,
            "total": total,
            "free": free,
            "allocated": torch.cuda.memory_allocated(),
            "reserved": sum(segment["total_size"] for segment in segments),
            "holes": [
                {
                    "pool": segment["segment_type"],
                    "is_default_stream": segment["stream"] == 0,
                    "bytes": block["size"],
                }
                for segment in segments
                for block in segment["blocks"]
                if block["state"] == "inactive"
            ],
        }
    )


def too_much() -> torch.Tensor:
    free, _ = torch.cuda.mem_get_info()
    return torch.empty(free + 64 * MB, dtype=torch.uint8, device="cuda")


class Wide(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(1024, 1024)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        hidden = self.inner(values)
        return hidden * too_much()


class TooMuchInBackward(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: Any, values: torch.Tensor) -> torch.Tensor:
        return values.clone()

    @staticmethod
    def backward(_ctx: Any, *_gradients: Any) -> torch.Tensor:
        return too_much()


def uncaught() -> None:
    Wide().cuda()(torch.randn(4096, 1024, device="cuda"))


def backward() -> None:
    values = torch.randn(1024, 1024, device="cuda", requires_grad=True)
    TooMuchInBackward.apply(values).sum().backward()


def caught() -> None:
    kept = torch.empty(8 * MB, dtype=torch.uint8, device="cuda")
    for _ in range(int(sys.argv[2])):
        with contextlib.suppress(torch.OutOfMemoryError):
            too_much()
    kept.fill_(1)


def raised_again() -> None:
    try:
        too_much()
    except torch.OutOfMemoryError as error:
        raise RuntimeError("the batch does not fit") from error


def in_a_thread() -> None:
    def work() -> None:
        try:
            too_much()
        except torch.OutOfMemoryError:
            return

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def killed() -> None:
    try:
        too_much()
    except torch.OutOfMemoryError:
        os.kill(os.getpid(), signal.SIGKILL)


def left_at_once() -> None:
    try:
        too_much()
    except torch.OutOfMemoryError:
        print(json.dumps(refusals), flush=True)
        os._exit(3)


def fraction() -> None:
    torch.cuda.set_per_process_memory_fraction(0.01)
    kept = torch.empty(1200 * MB, dtype=torch.uint8, device="cuda")
    torch.empty(1100 * MB, dtype=torch.uint8, device="cuda")
    del kept


def fragmented() -> None:
    held = [torch.empty(3 * MB, dtype=torch.uint8, device="cuda") for _ in range(1400)]
    small = [torch.empty(1000, dtype=torch.uint8, device="cuda") for _ in range(9000)]
    del held[::2], small[1::3]
    free, _ = torch.cuda.mem_get_info()
    filled = torch.empty(free - 300 * MB, dtype=torch.uint8, device="cuda")
    torch.empty(1000 * MB, dtype=torch.uint8, device="cuda")
    del filled


def of_another_stream() -> None:
    with torch.cuda.stream(torch.cuda.Stream()):
        first = torch.empty(500 * MB, dtype=torch.uint8, device="cuda")
        del first
        kept = torch.empty(3 * MB, dtype=torch.uint8, device="cuda")  # of its segment
    free, _ = torch.cuda.mem_get_info()
    filled = torch.empty(free - 50 * MB, dtype=torch.uint8, device="cuda")
    torch.empty(100 * MB, dtype=torch.uint8, device="cuda")
    del kept, filled


def of_another_pool() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        first = torch.empty(500 * MB, dtype=torch.uint8, device="cuda")
        del first
        kept = torch.empty(3 * MB, dtype=torch.uint8, device="cuda")  # of its segment
    free, _ = torch.cuda.mem_get_info()
    filled = torch.empty(free - 50 * MB, dtype=torch.uint8, device="cuda")
    torch.empty(90 * MB, dtype=torch.uint8, device="cuda")
    del kept, filled


def captured() -> None:
    graph = torch.cuda.CUDAGraph()
    values = torch.ones(1024, device="cuda")
    with torch.cuda.graph(graph):
        values + too_much().numel()


WAYS: dict[str, Callable[[], None]] = {
    way.__name__: way
    for way in (
        uncaught,
        backward,
        caught,
        raised_again,
        in_a_thread,
        killed,
        left_at_once,
        fraction,
        fragmented,
        of_another_stream,
        of_another_pool,
        captured,
    )
}


def main() -> None:
    torch.cuda.init()
    if "cudaMallocAsync" not in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""):
        torch._C._cuda_attach_out_of_memory_observer(note)
    try:
        WAYS[sys.argv[1]]()
    finally:
        print(json.dumps(refusals), flush=True)


main()
