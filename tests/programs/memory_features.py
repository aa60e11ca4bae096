"""Uses one feature of torch's memory management after the other, each in a phase of its own.

Prints torch's own peaks of each phase: {"phases": {name: {"allocated": ..., "requested": ...}}}.
"""

import sys
from collections.abc import Callable

import peakline
import torch
from counters import finish_holding, peaks
from torch import nn
from torch.utils.checkpoint import checkpoint


def mlp() -> None:
    model = nn.Sequential(nn.Linear(300, 700), nn.ReLU(), nn.Linear(700, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        model(torch.randn(65, 300, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def checkpointing() -> None:
    block = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)).cuda()
    x = torch.randn(100, 128, device="cuda", requires_grad=True)
    for _ in range(3):
        x = checkpoint(block, x, use_reentrant=False)
    x.sum().backward()


def side_streams() -> None:
    streams = [torch.cuda.Stream() for _ in range(3)]
    kept = torch.empty(3_000_001, dtype=torch.uint8, device="cuda")
    for _ in range(20):
        for stream in streams:
            with torch.cuda.stream(stream):
                block = torch.empty(777_777, dtype=torch.uint8, device="cuda")
                kept.record_stream(stream)
            block.record_stream(torch.cuda.current_stream())
            del block
    del kept
    torch.cuda.synchronize()


def graph() -> None:
    x = torch.zeros(1000, 33, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        (x * 2).sum()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        y = (x * 2 + 1).relu()
        z = y @ y.t()
    for _ in range(3):
        captured.replay()
    del y, z, captured


def memory_pool() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = [torch.empty(size, device="cuda") for size in (10, 5_000, 700_000)]
    outside = torch.empty(123_456, device="cuda")
    del inside, outside, pool


def out_of_memory() -> None:
    free, _total = torch.cuda.mem_get_info()
    kept = torch.empty(1_000_003, dtype=torch.uint8, device="cuda")
    try:
        torch.empty(4 * free, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        after = torch.empty(2_000_003, dtype=torch.uint8, device="cuda")
        del after
    del kept


def empty_cache() -> None:
    for size in (30_000_000, 5_000_001, 1001):
        block = torch.empty(size, dtype=torch.uint8, device="cuda")
        del block
        torch.cuda.empty_cache()


def odd_sizes() -> None:
    sizes = [0, 1, 511, 512, 513, 0, 1_048_575, 1_048_577, 10_485_761, 20_971_521]
    kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in sizes]
    del kept[::2]
    again = [torch.empty(size + 7, dtype=torch.uint8, device="cuda") for size in sizes]
    again[3].resize_(99_999)
    del kept, again


def pinned_loader() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(64.0).reshape(32, 2))
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(
            data, batch_size=8, pin_memory=True, num_workers=workers
        )
        for (batch,) in loader:
            batch.to("cuda", non_blocking=True).mul_(2)


FEATURES: list[Callable[[], None]] = [
    mlp,
    checkpointing,
    side_streams,
    graph,
    memory_pool,
    out_of_memory,
    empty_cache,
    odd_sizes,
    pinned_loader,
]


def main() -> None:
    left_out = sys.argv[1:]
    torch.cuda.init()
    found = {}
    for feature in FEATURES:
        if feature.__name__ in left_out:
            continue
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        with peakline.phase(feature.__name__):
            feature()
            found[feature.__name__] = peaks()
    finish_holding(phases=found, current=torch.cuda.memory_allocated())


if __name__ == "__main__":
    main()
