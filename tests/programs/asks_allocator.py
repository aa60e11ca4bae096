"""Asks torch's allocator for what replay has to know; says what torch counted. Argument: what."""

import contextlib
import json
import random
import sys

import torch

MIB = 1 << 20
Blocks = list[torch.Tensor]


def make(mib: float) -> torch.Tensor:
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def train() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        *[torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU()) for _ in range(4)]
    ).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for rows in (100, 3000, 700, 9000, 40, 5000, 2000, 12000):
        model(torch.randn(rows, 512, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def random_blocks(count: int = 1500) -> None:
    """Requests of any size on three streams, some used by another; caches emptied now and then."""
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    streams = [torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    pools = [torch.cuda.MemPool(), torch.cuda.MemPool(use_on_oom=True)]
    live: Blocks = []
    for _ in range(count):
        size = draw.choice([0.0005, 0.01, 0.3, 0.9, 1.1, 3, 9, 12, 30, 70]) * draw.uniform(0.5, 1.5)
        with torch.cuda.stream(draw.choice(streams)):
            if draw.random() < 0.1:
                with torch.cuda.use_mem_pool(draw.choice(pools)):
                    live.append(make(size))
            else:
                live.append(make(size))
        if draw.random() < 0.2:
            live[-1].record_stream(draw.choice(streams))
        while len(live) > 40 or (live and draw.random() < 0.45):
            live.pop(draw.randrange(len(live)))
        if draw.random() < 0.01:
            torch.cuda.empty_cache()


def pools() -> None:
    own = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(own):
        kept = [make(mib) for mib in (1, 3, 7, 30)]
    del kept[1]
    torch.cuda.empty_cache()
    whole = torch.cuda.MemPool(no_split=True)
    with torch.cuda.use_mem_pool(whole):
        more = [make(3), make(3)]
    del more[0]
    with torch.cuda.use_mem_pool(whole):
        more.append(make(2))
    del more, whole, kept, own
    blocks = [make(mib) for mib in (30, 40, 50)]
    del blocks[1]
    torch.cuda.empty_cache()


def graphs() -> None:
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(3)]).cuda()
    inputs = torch.randn(256, 512, device="cuda")
    model(inputs).sum().backward()
    first = torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        model(inputs).sum().backward()
    second = torch.cuda.CUDAGraph()
    with torch.cuda.graph(second, pool=first.pool()):
        model(inputs[:100])
    first.replay()
    blocks = [make(mib) for mib in range(1, 9)]
    del blocks[::2], second
    torch.cuda.empty_cache()
    del first
    torch.cuda.empty_cache()


def trees() -> None:
    model = torch.nn.Sequential(
        *[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()) for _ in range(3)]
    ).cuda()
    run = torch.compile(model, backend="cudagraphs")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(6):
        run(torch.randn(128 if i < 3 else 200, 256, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        for _ in range(4):
            run(torch.randn(64, 256, device="cuda"))


def fraction() -> None:
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction(900 * MIB / total)
    draw = random.Random(3)
    live: Blocks = []
    for _ in range(300):
        live.append(make(draw.uniform(1, 90)))
        while len(live) > 6 or (live and draw.random() < 0.4):
            live.pop(draw.randrange(len(live)))


def near_the_end() -> None:
    free = torch.cuda.mem_get_info()[0] // MIB
    block = make(free // 2)
    del block
    kept = [make(free * 3 // 4)]  # the cached half goes back first
    try:
        make(free // 2)
    except torch.OutOfMemoryError:
        kept.append(make(free // 8))
    kept.clear()
    kept.append(make(free // 2))


def fills() -> None:
    kept = [make(1 << 14), make(9000)]
    kept.pop()
    for _ in range(4):
        kept.append(make(12_000))
        kept.append(make(3000))
        kept.pop(-2)
    kept.append(make(20_000))


def new_settings() -> None:
    random_blocks(200)
    torch._C._accelerator_setAllocatorSettings("max_split_size_mb:40")
    random_blocks(300)


torch.empty(1, device="cuda")
with contextlib.suppress(torch.OutOfMemoryError):
    globals()[sys.argv[1]]()
counters = torch.cuda.memory_stats()
print(
    json.dumps(
        {
            "reserved_peak_bytes": counters["reserved_bytes.all.peak"],
            "device_allocs": counters["num_device_alloc"],
            "device_frees": counters["num_device_free"],
            "retries": counters["num_alloc_retries"],
            "refused": counters["num_ooms"],
        }
    )
)
