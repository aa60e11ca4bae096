"""Two models built before tracing starts, one after, one compiled; all train.

Prints {"parameters": {tensor: bytes}} of the models, and the paths of their modules.
"""

import peakline
import torch
from counters import finish
from torch import nn

DEVICE = "cuda"


class First(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(256, 256 * n) for n in (1, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum(layer(x).relu().sum() for layer in self.layers)


class Second(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(256, 640), nn.GELU())
        self.head = nn.Linear(640, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x)).sum()


def sizes_of(name: str, model: nn.Module) -> dict[str, int]:
    return {
        f"parameter {name}.{place}": parameter.untyped_storage().nbytes()
        for place, parameter in model.named_parameters()
    }


def main() -> None:
    torch.cuda.init()
    peakline.stop_tracing()
    models: dict[str, nn.Module] = {"First": First().to(DEVICE), "Second": Second().to(DEVICE)}
    peakline.start_tracing()
    models["First#2"] = First().to(DEVICE)
    models["Third"] = compiled = type("Third", (Second,), {})().to(DEVICE)
    x = torch.randn(100, 256, device=DEVICE)
    losses = [model(x) for name, model in models.items() if name != "Third"]
    losses.append(torch.compile(compiled)(x))
    sum(losses).backward()
    said = {}
    for name, model in models.items():
        said |= sizes_of(name, model)
    with peakline.phase("done"):
        pass
    from torch._inductor.async_compile import shutdown_compile_workers

    shutdown_compile_workers()
    paths = [f"{name}.{p}" for name, model in models.items() for p, _ in model.named_modules() if p]
    peakline.stop_tracing()
    finish(parameters=said, modules=[*models, *paths])


if __name__ == "__main__":
    main()
