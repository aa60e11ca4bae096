"""Prints, as one JSON line, everything a program can see of torch's CUDA memory management."""

import warnings
from typing import Any

import torch
from counters import finish_holding
from torch import nn

MEGABYTE = 1 << 20


def work() -> list[torch.Tensor]:
    model = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 20)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        model(torch.randn(50, 100, device="cuda")).sum().backward()
        optimizer.step()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        side = torch.empty(3 * MEGABYTE, device="cuda")
    side.record_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    x = torch.zeros(10, 10, device="cuda")
    with torch.cuda.graph(graph):
        y = x + 1
    graph.replay()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = torch.empty(1000, device="cuda")
    torch.cuda.synchronize()
    return [*model.parameters(), side, x, y, inside]


def out_of_memory() -> dict[str, str]:
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        # Torch puts its own process id into the text.
        words = str(error).split("process ")
        return {"type": type(error).__name__, "text": words[0]}
    return {}


def raised(call: Any, *arguments: Any) -> str:
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return "nothing"


def shapes(segments: list[dict[str, Any]]) -> list[Any]:
    """Segments and blocks without what differs from run to run: addresses, stacks and times."""
    return [
        (
            {k: segment[k] for k in ("device", "total_size", "segment_type")},
            [(b["size"], b["requested_size"], b["state"]) for b in segment["blocks"]],
        )
        for segment in segments
    ]


def history() -> Any:
    torch.cuda.memory._record_memory_history(max_entries=1000)
    block = torch.empty(5 * MEGABYTE, dtype=torch.uint8, device="cuda")
    del block
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    traces = snapshot["device_traces"][0]
    return [
        (e["action"], e["size"], [f["name"] for f in e["frames"] if f["name"] == "history"])
        for e in traces
    ]


def accelerator() -> dict[str, Any]:
    names = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
    seen = {name: getattr(torch.accelerator, name)() for name in names}
    return {**seen, "stats": dict(torch.accelerator.memory_stats())}


def main() -> None:
    warnings.simplefilter("ignore")
    kept = work()
    seen = {
        "stats": dict(torch.cuda.memory_stats()),
        "summary": torch.cuda.memory_summary(),
        "snapshot": shapes(torch.cuda.memory_snapshot()),
        "out_of_memory": out_of_memory(),
        "backend": torch.cuda.get_allocator_backend(),
        "accelerator": accelerator(),
        "history": history(),
        "mem_get_info": torch.cuda.mem_get_info(),
        "changed_too_late": raised(
            torch.cuda.memory.change_current_allocator,
            torch.cuda.memory.CUDAPluggableAllocator("libc.so.6", "malloc", "free"),
        ),
        "bad_device": raised(lambda: torch.empty(1, device="cuda:77")),
        "fraction": [
            raised(torch.cuda.set_per_process_memory_fraction, 0.001),
            raised(lambda: torch.empty(1 << 30, device="cuda")),
            raised(torch.cuda.set_per_process_memory_fraction, 1.0),
        ],
    }
    del kept
    torch.cuda.empty_cache()
    torch.cuda.reset_accumulated_memory_stats()
    torch.cuda.reset_peak_memory_stats()
    finish_holding(**seen, after=dict(torch.cuda.memory_stats()))


if __name__ == "__main__":
    main()
