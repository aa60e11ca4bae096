"""Operators that are not torch's: custom ones in Python, Triton kernels, code of torch.compile.

What they make stays. Prints {"sizes": {what: bytes of its block}} for those made by hand, and the
kernels that torch.compile generated.
"""

from pathlib import Path

import torch
import triton
import triton.language as tl
from counters import finish_holding
from torch import nn

kept: list[torch.Tensor] = []


@torch.library.custom_op("mine::scaled", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(1001 * 128, device=x.device)


library = torch.library.Library("other", "DEF")  # lives as long as the program
library.define("twice(Tensor x) -> Tensor")


def twice(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(2003 * 128)


library.impl("twice", twice, "CUDA")


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


def compiled() -> list[str]:
    """Train a compiled model; return the kernels of the code that was generated for it."""
    from torch._inductor.async_compile import shutdown_compile_workers
    from torch._inductor.codecache import PyCodeCache

    layers = (nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 8))
    model = nn.Sequential(*layers).cuda()
    fast = torch.compile(model)
    fast(torch.randn(40, 64, device="cuda")).square().mean().backward()
    kept.extend(parameter.grad for parameter in model.parameters())
    shutdown_compile_workers()
    source = "".join(Path(module.__file__).read_text() for module in PyCodeCache.modules)
    words = {word.strip().split(".run(")[0] for word in source.splitlines() if ".run(" in word}
    return sorted(word for word in words if word.startswith("triton_"))


if __name__ == "__main__":
    x = torch.ones(5003, device="cuda")
    kept.extend(make(x) for make in (scaled, torch.ops.other.twice, by_triton, added))
    sizes = [tensor.untyped_storage().nbytes() for tensor in kept]
    names = ("scaled", "twice", "by_triton", "added")
    finish_holding(sizes=dict(zip(names, sizes, strict=True)), kernels=compiled())
