"""Operators that are not torch's: custom ones in Python, Triton kernels, code of torch.compile.

What they make stays. Prints {"sizes": {what: bytes of its block}} for those made by hand, what
torch's profiler called the operators that made them, and the kernels that torch.compile generated.
"""

from pathlib import Path

import torch
import triton
import triton.language as tl
from counters import finish_holding
from profiled_models import MERE, ancestors
from torch import nn
from torch.profiler import ProfilerActivity, profile

kept: list[torch.Tensor] = []


@torch.library.custom_op("mine::scaled", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(1001 * 128, device=x.device)


library = torch.library.Library("other", "DEF")  # lives as long as the program
library.define("twice(Tensor x) -> Tensor")


def twice(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(2003 * 128)


library.impl("twice", twice, "CUDA")

# Two operators with one kernel, whose stacks differ in nothing but the operator.
TWINS = {"first": 5003 * 128, "second": 6007 * 128}


def twin(x: torch.Tensor, floats: int) -> torch.Tensor:
    return torch.empty(floats, device=x.device)


for name in TWINS:
    library.define(f"{name}(Tensor x, int floats) -> Tensor")
    library.impl(name, twin, "CUDA")


def twins(x: torch.Tensor) -> list[torch.Tensor]:
    return [getattr(torch.ops.other, name)(x, floats) for name, floats in TWINS.items()]


@triton.jit
def copy_kernel(x, out, n, block: tl.constexpr):
    place = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + place, tl.load(x + place, mask=place < n), mask=place < n)


def by_triton(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(3001 * 128, device=x.device)
    copy_kernel[(4,)](x, out, 3001, block=1024)
    return out


@torch.library.triton_op("mine::added", mutates_args=())
def added(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(4001 * 128, device=x.device)
    torch.library.wrap_triton(copy_kernel)[(4,)](x, out, 4001, block=1024)
    return out


@torch.compile
def all_compiled(x: torch.Tensor) -> list[torch.Tensor]:
    out = torch.empty(7001 * 128, device=x.device)
    copy_kernel[(4,)](x, out, 7001, block=1024)
    return [out, scaled(x + 1), torch.ops.other.first(x * 2, 8009 * 128)]


@scaled.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(1001 * 128, device=x.device)


torch.library.register_fake("other::first", twin, lib=library)


def made_by_profiler(run: profile) -> dict[str, int]:
    """Bytes by the operator that torch's profiler saw above the mere allocation."""
    made: dict[str, int] = {}
    pending = list(run.profiler.kineto_results.experimental_event_tree())
    while pending:
        event = pending.pop()
        pending += event.children
        kind, fields = event.typed
        if kind == torch._C._profiler._EventType.Allocation and fields.alloc_size > 0:
            names = [above.name for above in ancestors(event)] or ["none"]
            asking = next((name for name in names if name not in MERE), names[0])
            made[asking] = made.get(asking, 0) + fields.alloc_size
    return made


def train_compiled() -> None:
    layers = (nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 8))
    model = nn.Sequential(*layers).cuda()
    fast = torch.compile(model)
    fast(torch.randn(40, 64, device="cuda")).square().mean().backward()
    kept.extend(parameter.grad for parameter in model.parameters())


def generated_kernels() -> list[str]:
    from torch._inductor.async_compile import shutdown_compile_workers
    from torch._inductor.codecache import PyCodeCache

    shutdown_compile_workers()
    source = "".join(Path(module.__file__).read_text() for module in PyCodeCache.modules)
    words = {word.strip().split(".run(")[0] for word in source.splitlines() if ".run(" in word}
    return sorted(word for word in words if word.startswith("triton_"))


if __name__ == "__main__":
    x = torch.ones(5003, device="cuda")
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
        kept.extend(make(x) for make in (scaled, torch.ops.other.twice, by_triton, added))
        kept.extend(twins(x))
    names = ("mine::scaled", "twice", "by_triton", "mine::added", *TWINS)
    sizes = {name: made.untyped_storage().nbytes() for name, made in zip(names, kept, strict=True)}
    train_compiled()
    kept.extend(all_compiled(x))
    finish_holding(
        sizes=sizes,
        profiled=made_by_profiler(run),
        kernels=generated_kernels(),
        of_compiled=[tensor.untyped_storage().nbytes() for tensor in kept[-3:]],
    )
