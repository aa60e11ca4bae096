"""Makes every cause of a reserved byte come and go: streams, pools, emptied caches, a peak."""

import random

import torch

MIB = 1 << 20
draw = random.Random(11)
side = torch.cuda.Stream()
pools = [torch.cuda.MemPool()]
held: list[torch.Tensor] = []


def small() -> torch.Tensor:
    return torch.empty(draw.randrange(1, MIB), dtype=torch.uint8, device="cuda")


def large() -> torch.Tensor:
    return torch.empty(draw.randrange(MIB, 30 * MIB), dtype=torch.uint8, device="cuda")


def add() -> None:
    held.append(draw.choice([small, small, large])())


def beside() -> None:
    with torch.cuda.stream(side):
        held.append(draw.choice([small, large])())


def pooled() -> None:
    if pools:
        with torch.cuda.use_mem_pool(pools[0]):
            held.append(large())


def free() -> None:
    if held:
        held.pop(draw.randrange(len(held)))


def defer() -> None:
    if held:
        block = held.pop(draw.randrange(len(held)))
        block.record_stream(side)


for number in range(260):
    draw.choice([add, add, beside, pooled, free, free, defer])()
    if number % 90 == 60:
        torch.cuda.empty_cache()
    if number == 200:
        pools.clear()
torch.cuda.synchronize()
