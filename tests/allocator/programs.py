"""Programs that use torch's allocator in every way the model knows: `programs.py NAME [VARIANT]`.

VARIANT is a seed where numbers are drawn.

Each prints what torch counted, at the end of its first step too where it has steps. One that runs
out of memory ends there: what a program would do then is no question for a prediction.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable

import torch

MIB = 1 << 20
VARIANT = sys.argv[2] if len(sys.argv) > 2 else "1"
SEED = int(VARIANT) if VARIANT.isdigit() else 1
after_first_step: dict[str, int] = {}


def counts() -> dict[str, int]:
    """What torch counted until now."""
    counters = torch.cuda.memory_stats()
    return {
        "reserved_peak_bytes": counters["reserved_bytes.all.peak"],
        "device_allocs": counters["num_device_alloc"],
        "device_frees": counters["num_device_free"],
        "retries": counters["num_alloc_retries"],
    }


def step(optimizer: torch.optim.Optimizer) -> None:
    """One step of the optimizer; the first one ends the first step of the program."""
    optimizer.step()
    if not after_first_step:
        after_first_step.update(counts())
    optimizer.zero_grad()


def make(mib: float) -> torch.Tensor:
    """A block."""
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def gpt2() -> None:
    """GPT-2 small, four steps."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        tokens = torch.randint(0, 50257, (4, 512), device="cuda")
        model(tokens, labels=tokens).loss.backward()
        step(optimizer)


def small_gpt2() -> None:
    """A GPT-2 of two layers, three batches of different lengths; "emptied" before each forward."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=256, n_head=4, vocab_size=8000)
    model = GPT2LMHeadModel(config).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for length in (100, 300, 170):
        tokens = torch.randint(0, 8000, (4, length), device="cuda")
        if VARIANT == "emptied":
            torch.cuda.empty_cache()
        model(tokens, labels=tokens).loss.backward()
        step(optimizer)


def resnet18() -> None:
    """ResNet-18, two steps, then a larger batch without gradients."""
    import torchvision

    model = torchvision.models.resnet18().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        images = torch.randn(16, 3, 96, 96, device="cuda")
        model(images).square().mean().backward()
        step(optimizer)
    with torch.no_grad():
        model(torch.randn(40, 3, 96, 96, device="cuda"))


def resnet50() -> None:
    """ResNet-50 that trains, then answers."""
    import torchvision

    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        images = torch.randn(32, 3, 224, 224, device="cuda")
        labels = torch.zeros(32, dtype=torch.long, device="cuda")
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        step(optimizer)
    model.eval()
    with torch.no_grad():
        for count in (64, 17, 48):
            model(torch.randn(count, 3, 224, 224, device="cuda"))


def variable_length() -> None:
    """A small GPT-2 on batches of many lengths: what splits torch's segments most."""
    from transformers import GPT2Config, GPT2LMHeadModel

    draw = random.Random(SEED)
    model = GPT2LMHeadModel(GPT2Config(n_layer=3)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for i in range(16):
        size = (draw.choice([2, 4, 8]), draw.randint(40, 900))
        tokens = torch.randint(0, 50257, size, device="cuda")
        model(tokens, labels=tokens).loss.backward()
        step(optimizer)
        if i == 9:
            torch.cuda.empty_cache()


def streams() -> None:
    """Blocks of three streams, many used by another one."""
    draw = random.Random(SEED)
    others = [torch.cuda.Stream(), torch.cuda.Stream()]
    weights = torch.randn(2048, 2048, device="cuda")
    live: list[torch.Tensor] = []
    for i in range(600):
        mib = draw.choice([0.001, 0.02, 0.8, 2.7, 11, 35]) * draw.uniform(0.5, 1.5)
        with torch.cuda.stream(draw.choice([None, *others])):
            live.append(make(mib))
        if draw.random() < 0.5:
            live[-1].record_stream(draw.choice([*others, torch.cuda.default_stream()]))
        while len(live) > 12 or (live and draw.random() < 0.45):
            live.pop(draw.randrange(len(live)))
        if draw.random() < 0.2:
            with torch.cuda.stream(others[1]):
                product = weights @ weights
            product.record_stream(others[0])
            del product
        if i == 350:
            torch.cuda.empty_cache()


def busy_streams() -> None:
    """Blocks that other streams still use when the device refuses a request: retries wait."""
    draw = random.Random(SEED)
    others = [torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    free = torch.cuda.mem_get_info()[0] // MIB
    live: list[tuple[torch.Tensor, float]] = []
    for _ in range(600):
        mib = draw.choice([0.3, 4, 15, free * 0.02, free * 0.1]) * draw.uniform(0.6, 1.4)
        while live and sum(size for _, size in live) + mib > free * 0.6:
            live.pop(draw.randrange(len(live)))
        with torch.cuda.stream(draw.choice(others)):
            live.append((make(mib), mib))
        if draw.random() < 0.4:
            live[-1][0].record_stream(draw.choice(others))


def graphs() -> None:
    """A training step as a graph, a second graph in its pool, a pool of the program."""
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(6)]).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    inputs = torch.randn(512, 1024, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(inputs).square().mean().backward()
            step(optimizer)
    torch.cuda.current_stream().wait_stream(side)
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
    first.replay()
    with torch.cuda.graph(second, pool=first.pool()):
        outputs = model(inputs[:256])
    own = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(own):
        kept = [make(mib) for mib in (1, 3, 7, 30)]
        del kept[1]
        kept.append(make(2))
    blocks = [make(12 * k) for k in range(1, 9)]
    del blocks[::2]
    torch.cuda.empty_cache()
    del second, outputs
    torch.cuda.empty_cache()
    del kept, own, first, loss
    optimizer.zero_grad()
    torch.cuda.empty_cache()


def graphed_calls() -> None:
    """make_graphed_callables: forward and backward in graphs of one pool."""
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)
    ).cuda()
    inputs = torch.randn(256, 512, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(model, (inputs,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        graphed(torch.randn(256, 512, device="cuda")).sum().backward()
        step(optimizer)


def graph_trees() -> None:
    """Graphs of torch.compile, whose pool is put back into earlier states."""
    model = torch.nn.Sequential(
        *[torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(4)]
    ).cuda()
    run = torch.compile(model, backend="cudagraphs")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(6):
        run(torch.randn(128 if i < 3 else 256, 512, device="cuda")).sum().backward()
        step(optimizer)
    with torch.no_grad():
        for _ in range(4):
            run(torch.randn(64, 512, device="cuda"))


def own_pools() -> None:
    """MemPools: kept, released, never split, serving others when memory runs out."""
    free = torch.cuda.mem_get_info()[0] // MIB
    half = make(free // 2)
    del half
    own = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(own):
        kept = make(free // 16)
    del kept
    torch.cuda.empty_cache()
    large = make(free * 9 // 16)
    del large, own
    torch.cuda.empty_cache()
    serving = torch.cuda.MemPool(use_on_oom=True)
    with torch.cuda.use_mem_pool(serving):
        kept = make(free // 4)
    del kept
    blocks = [make(free * 3 // 8), make(free // 4), make(free * 3 // 16)]
    del blocks, serving
    whole = torch.cuda.MemPool(no_split=True)
    with torch.cuda.use_mem_pool(whole):
        blocks = [make(3), make(3)]
    del blocks[0]
    with torch.cuda.use_mem_pool(whole):
        blocks += [make(2), make(5)]
    del blocks, whole
    blocks = [make(mib) for mib in (30, 40, 50)]
    del blocks[1]
    torch.cuda.empty_cache()


def near_the_end() -> None:
    """Fills the device again and again, so that what is cached must go back first."""
    draw = random.Random(SEED)
    free = torch.cuda.mem_get_info()[0] // MIB
    live: list[torch.Tensor] = []
    held = 0
    for _ in range(250):
        mib = draw.choice([0.3, 4, 15, free * 0.02, free * 0.1]) * draw.uniform(0.6, 1.4)
        while live and held + mib > free * 0.6:
            held -= live.pop(draw.randrange(len(live))).numel() // MIB
        live.append(make(mib))
        held += live[-1].numel() // MIB


def fraction() -> None:
    """May use a part of the device only, which it needs most of."""
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction(700 * MIB / total)
    draw = random.Random(SEED)
    live: list[torch.Tensor] = []
    for _ in range(500):
        live.append(make(draw.uniform(1, 90)))
        while len(live) > 8 or (live and draw.random() < 0.4):
            live.pop(draw.randrange(len(live)))


def random_blocks(count: int = 3000) -> None:
    """Requests of any size on three streams and two pools; caches emptied now and then."""
    draw = random.Random(SEED)
    all_streams = [torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    pools = [torch.cuda.MemPool(), torch.cuda.MemPool(use_on_oom=True)]
    live: list[torch.Tensor] = []
    for _ in range(count):
        mib = draw.choice([0.0005, 0.01, 0.3, 0.9, 1.1, 3, 9, 12, 30, 70]) * draw.uniform(0.5, 1.5)
        with torch.cuda.stream(draw.choice(all_streams)):
            if draw.random() < 0.1:
                with torch.cuda.use_mem_pool(draw.choice(pools)):
                    live.append(make(mib))
            else:
                live.append(make(mib))
        if draw.random() < 0.2:
            live[-1].record_stream(draw.choice(all_streams))
        while len(live) > 60 or (live and draw.random() < 0.45):
            live.pop(draw.randrange(len(live)))
        if draw.random() < 0.01:
            torch.cuda.empty_cache()


def new_settings() -> None:
    """Gives torch other settings while it runs."""
    random_blocks(1000)
    torch._C._accelerator_setAllocatorSettings("max_split_size_mb:40")
    torch.cuda.set_per_process_memory_fraction(0.9)
    random_blocks(1000)


PROGRAMS: tuple[Callable[[], None], ...] = (
    small_gpt2,
    resnet18,
    gpt2,
    resnet50,
    variable_length,
    streams,
    busy_streams,
    graphs,
    graphed_calls,
    graph_trees,
    own_pools,
    near_the_end,
    fraction,
    random_blocks,
    new_settings,
)


def say(refused_by: str) -> None:
    """Print what torch counted: where memory ran out, before anything is given back."""
    said = {**counts(), "first_step": after_first_step or None}
    print(json.dumps({**said, "refused": refused_by == "torch", "by": refused_by}), flush=True)


def main() -> None:
    """Run the program that the first argument names."""
    torch.manual_seed(0)
    torch.empty(1, device="cuda")
    run = {one.__name__: one for one in PROGRAMS}[sys.argv[1]]
    try:
        run()
        say("")
    except torch.OutOfMemoryError:
        say("torch")
        os._exit(0)
    except RuntimeError as error:
        if "ALLOC_FAILED" not in str(error):
            raise
        say("a library")
        os._exit(0)


if __name__ == "__main__":
    main()
