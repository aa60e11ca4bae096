"""Functions and a model that torch compiles, with bytes worked out by hand.

`# bytes: N` at the end of a line: so many bytes of that line are live at the end of the program.
Sizes are multiples of 512, which the allocator does not round. No weight has the size of an
activation, so no gradient lies in the buffer of one.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from counters import finish_holding
from torch import nn
from torch.utils.checkpoint import checkpoint

Tensor = torch.Tensor
kept: list[Any] = []


def three_lines(x: Tensor) -> tuple[Tensor, ...]:
    a = torch.sin(x)  # bytes: 262144
    b = a @ x  # bytes: 262144
    return a, b, torch.sort(b)[1]  # bytes: 524288


def one_kernel(x: Tensor) -> tuple[Tensor, ...]:
    a = torch.cos(x)  # bytes: 262144
    b = (a + 1).half()  # bytes: 131072
    return a, b


def twin(x: Tensor) -> tuple[Tensor, Tensor]:
    first = torch.tan(x)  # bytes: 262144
    return first, first @ x  # bytes: 262144


def other_twin(x: Tensor) -> tuple[Tensor, Tensor]:
    second = torch.tan(x)  # bytes: 262144
    return second, second @ x  # bytes: 262144


def branches(x: Tensor) -> Any:
    def less(x: Tensor) -> Tensor:
        return torch.exp(x)  # bytes: 262144

    def more(x: Tensor) -> Tensor:
        return torch.log(x)

    return torch.cond(torch.ones((), device="cuda") > 1, more, less, (x,))


def broken(x: Tensor) -> tuple[Tensor, Tensor]:
    a = torch.sinh(x)  # bytes: 262144
    torch._dynamo.graph_break()
    return a, torch.cosh(a)  # bytes: 262144


def in_a_graph(x: Tensor) -> Tensor:
    return torch.tanh(x)  # bytes: 262144


class Block(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.up = nn.Linear(256, wide, bias=False)
        self.down = nn.Linear(wide, 256, bias=False)

    def inner(self, x: Tensor) -> Tensor:
        hidden = self.up(x)  # bytes: 1572864
        hidden = nn.functional.gelu(hidden)
        return self.down(hidden)  # bytes: 1769472

    def forward(self, x: Tensor) -> Any:
        return checkpoint(self.inner, x, use_reentrant=False)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(wide) for wide in (512, 1024))

    def forward(self, x: Tensor) -> list[Tensor]:
        results = []
        for layer in self.layers:
            x = layer(x)
            results.append(x)
        return results


def main() -> None:
    x = torch.ones(256, 256, device="cuda")
    with torch.no_grad():
        functions = (three_lines, one_kernel, twin, other_twin, branches, broken)
        kept.extend(torch.compile(function)(x) for function in functions)
        kept.append(torch.compile(in_a_graph, mode="reduce-overhead")(x))
    model = Model().cuda()
    kept.append(torch.compile(model)(x[:96]))
    kept[-1][-1].sum().backward()
    kept.append(model)

    from torch._dynamo.utils import counters
    from torch._inductor.async_compile import shutdown_compile_workers

    shutdown_compile_workers()
    compiles = counters["stats"]["unique_graphs"]
    finish_holding(compiles=compiles, hits=counters["inductor"]["fxgraph_cache_hit"])


if __name__ == "__main__" and sys.argv[1:] != ["--no-run"]:
    main()
