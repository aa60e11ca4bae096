"""A model that runs as a graph of torch.fx: by two backends of torch.compile, and exported.

`# bytes: N` at the end of a line: so many bytes of that line are live at the end of the program, of
all its models together.
"""

from __future__ import annotations

from typing import Any

import torch
from counters import finish_holding
from torch import nn

Tensor = torch.Tensor
kept: list[Any] = []


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(256, 512, bias=False)
        self.down = nn.Linear(512, 256, bias=False)

    def forward(self, x: Tensor) -> Any:
        hidden = self.up(x)  # bytes: 2228224
        hidden = nn.functional.gelu(hidden)  # bytes: 1179648
        return self.down(hidden)  # bytes: 1736704


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x: Tensor) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def main() -> None:
    x = torch.ones(96, 256, device="cuda")
    nets = [Net().cuda() for _ in range(4)]
    graphs = [
        torch.compile(nets[0], backend="eager"),
        torch.compile(nets[1], backend="aot_eager"),
        torch.export.export(nets[2], (x,)).module(),
        torch.compile(nets[3], backend="aot_eager"),
    ]
    kept.extend((nets, graphs))
    results = [graph(x) for graph in graphs]
    results[-1].sum().backward()
    kept.append(results)
    finish_holding()


if __name__ == "__main__":
    main()
