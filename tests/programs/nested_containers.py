"""Containers that nobody calls, checkpointing and a module that another one calls.

`forward`: prints the highest level while any of a path's modules ran, for every path of
named_modules(). `train`: prints what parameters, gradients and the graph of a second forward pass
hold below every path at the end.
"""

import sys
from collections import Counter

import torch
from counters import finish_holding
from residual_layer import WIDTH, Layer
from torch import nn
from torch.utils.checkpoint import checkpoint

CHECKPOINTED = ("named.again.", "named.reentrant.")


class Guest(nn.Module):
    """Calls a module that is registered elsewhere only."""

    def __init__(self, host: nn.Module) -> None:
        super().__init__()
        self.host = [host]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.host[0](x)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(512 * n) for n in (3, 5))
        self.stages = nn.ModuleList(
            nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(n)) for n in (1, 2)
        )
        self.steps = nn.Sequential(nn.Linear(WIDTH, 768), nn.GELU(), nn.Linear(768, WIDTH))
        self.named = nn.ModuleDict({"shared": nn.Linear(WIDTH, WIDTH), "again": Layer(512 * 7)})
        self.named["reentrant"] = Layer(512 * 9)
        self.guest = Guest(self.named["shared"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        for stage in self.stages:
            for part in stage:
                x = part(x)
        for part in self.steps:
            x = part(x)
        x = self.guest(x)
        x = checkpoint(self.named["again"], x, use_reentrant=False)
        return checkpoint(self.named["reentrant"], x, use_reentrant=True)


def paths_around(path: str) -> list[str]:
    """Return `path` and all that it is in; the model itself is its class."""
    parts = path.split(".")
    return ["Model", *(".".join(parts[:count]) for count in range(1, len(parts) + 1))]


def sizes_of_blocks() -> dict[int, int]:
    """Return the bytes of every block of torch's allocator by its address."""
    sizes = {}
    for segment in torch.cuda.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            sizes[address] = block["size"]
            address += block["size"]
    return sizes


def watch_peaks(model: nn.Module) -> dict[str, int]:
    peaks: dict[str, int] = {}

    def after(path: str) -> None:
        for around in paths_around(path):
            peaks[around] = max(peaks.get(around, 0), torch.cuda.max_memory_allocated())

    for path, module in model.named_modules():
        if not list(module.children()):
            module.register_forward_pre_hook(
                lambda *_: torch.cuda.reset_peak_memory_stats() or None
            )
            module.register_forward_hook(lambda *_, path=path: after(path))
    return peaks


def watch_growth(model: nn.Module) -> Counter[str]:
    """Count what is left of the outermost calls of every path.

    What a checkpointed module calls leaves nothing: its parts are not watched.
    """
    grown: Counter[str] = Counter()
    calls: list[tuple[str, int]] = []

    def after(path: str) -> None:
        grew = torch.cuda.memory_allocated() - calls.pop()[1]
        open_paths = {around for open_path, _ in calls for around in paths_around(open_path)}
        for around in set(paths_around(path)) - open_paths:
            grown[around] += grew

    for path, module in model.named_modules():
        if path and not path.startswith(CHECKPOINTED):
            module.register_forward_pre_hook(
                lambda *_, path=path: calls.append((path, torch.cuda.memory_allocated()))
            )
            module.register_forward_hook(lambda *_, path=path: after(path))
    return grown


def main(what: str) -> None:
    model = Model().cuda()
    x = torch.randn(128, WIDTH, device="cuda")
    # Older torch keeps a workspace for the products of each thread: here they are no layer's.
    weight = torch.randn(WIDTH, WIDTH, device="cuda", requires_grad=True)
    bias = torch.randn(WIDTH, device="cuda")
    checkpoint(nn.functional.linear, x, weight, bias, use_reentrant=True)
    checkpoint(nn.functional.linear, weight, weight, bias, use_reentrant=True).sum().backward()
    if what == "forward":
        peaks = watch_peaks(model)
        with torch.no_grad():
            model(x)
            model(torch.cat([x, x]))
        finish_holding(seen=peaks)
    model(x).sum().backward()
    held = watch_growth(model)
    graph = model(x)
    sizes = sizes_of_blocks()
    for path, parameter in model.named_parameters():
        for around in paths_around(path.rpartition(".")[0]):
            held[around] += sizes[parameter.data_ptr()] + sizes[parameter.grad.data_ptr()]
    finish_holding(seen=held, shape=list(graph.shape))


if __name__ == "__main__":
    main(sys.argv[1])
