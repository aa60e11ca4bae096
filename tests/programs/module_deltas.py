"""A model of unique sizes; prints what memory_allocated() gained while each module ran.

Two models, checkpointing, a backward pass: names must be those of named_modules().
"""

import time
from collections import Counter

import peakline
import torch
from counters import finish_holding
from residual_layer import Layer
from torch import nn
from torch.utils.checkpoint import checkpoint


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(512 * n) for n in (3, 5, 7))
        self.last = Layer(512 * 11)
        self.head = nn.Linear(256, 1536)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        x = checkpoint(self.last, x, use_reentrant=False)
        return self.head(x)


gained: Counter[str] = Counter()
starts: list[int] = []


def watch(name: str, module: nn.Module) -> None:
    """Counts what stays allocated of a module's forward, without what its children keep."""

    def before(*_: object) -> None:
        starts.append(torch.cuda.memory_allocated())

    def after(*_: object) -> None:
        delta = torch.cuda.memory_allocated() - starts.pop()
        gained[name] += delta
        for i in range(len(starts)):
            starts[i] += delta

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)


def main() -> None:
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(128, 256, device="cuda")
    model(x).sum().backward()  # warm-up: workspaces
    optimizer.step()
    optimizer.zero_grad()
    for name, module in model.named_modules():
        if name:
            watch(name, module)
    with peakline.phase("before"):
        pass
    out = model(x)
    with peakline.phase("forward-done"):
        pass
    kept = dict(gained)
    out.sum().backward()
    optimizer.step()
    time.sleep(0.3)
    names = [name for name, _ in model.named_parameters()]
    finish_holding(gained=kept, parameters=names)


if __name__ == "__main__":
    main()
