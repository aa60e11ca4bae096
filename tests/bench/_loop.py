"""One measured process of bench_events.py: an allocation loop, or GPT-2 steps, in one mode.

Prints one JSON line: nanoseconds per event (an allocation or a free), median of the repetitions.
"""

import json
import statistics
import sys
import time

import torch

REPETITIONS = 7
PAIRS = 4000


def at_depth(depth: int, work):
    return work() if depth <= 0 else at_depth(depth - 1, work)


def pairs() -> float:
    """Allocate and free; returns seconds per event."""
    empty = torch.empty
    begin = time.perf_counter()
    for _ in range(PAIRS):
        empty(1024, device="cuda")
    return (time.perf_counter() - begin) / (2 * PAIRS)


def measure_loop(depth: int) -> float:
    at_depth(depth, pairs)
    return statistics.median(at_depth(depth, pairs) for _ in range(REPETITIONS)) * 1e9


def allocations() -> int:
    return torch.cuda.memory_stats()["allocation.all.allocated"]


def measure_gpt2() -> dict[str, float]:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.zeros((2, 128), dtype=torch.long, device="cuda")

    def step() -> float:
        begin = time.perf_counter()
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    for _ in range(3):
        step()
    before = allocations()
    times = [step() for _ in range(15)]
    events = 2 * (allocations() - before) / len(times)
    return {"step_ms": statistics.median(times) * 1e3, "events": events}


def start_torch_recorder(mode: str) -> None:
    _, stacks, context = mode.split(":")
    torch.cuda.memory._record_memory_history(context=context, stacks=stacks, max_entries=100_000)


def main() -> None:
    mode, depths = sys.argv[1], [int(depth) for depth in sys.argv[2].split(",")]
    torch.empty(1, device="cuda")
    if mode.startswith("torch:"):
        start_torch_recorder(mode)
    result: dict[str, object] = {f"depth {depth}": measure_loop(depth) for depth in depths}
    result["gpt2"] = measure_gpt2()
    print(json.dumps(result))


main()
