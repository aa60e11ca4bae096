"""Holds blocks of known sizes for known times; all are live at the peak of the step."""

import time

import peakline
import torch
from counters import finish_holding
from torch import nn

WIDTH = 256
sizes: dict[str, int] = {}


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(700, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # mul saves what exp made; exp saves its own result.
        sizes["held to backward"] = x.numel() * 4
        scratch = torch.empty(9 << 20, dtype=torch.uint8, device="cuda")
        y = x.exp() * self.scale
        total = y.sum()
        del scratch
        sort_and_measure()
        # Nothing else is allocated while it lives, but its operator has returned.
        torch.empty(40 << 20, dtype=torch.uint8, device="cuda")
        sizes["freed within the phase"] = (40 << 20) + y.numel() * 4
        return total


def sort_and_measure() -> None:
    """Sort with what torch allocates for it: its own counters say what is gone at the return."""
    numbers = torch.empty(1 << 20, dtype=torch.int32, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    with peakline.phase("sorting"):
        result = torch.sort(numbers)
    stats = torch.cuda.memory_stats()
    held = stats["requested_bytes.all.current"]
    sizes["freed within the operator"] = stats["requested_bytes.all.peak"] - held
    del result


def main() -> None:
    model = Model().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
    sizes["held to the end"] = kept.numel()
    sizes["held to the optimizer"] = model.scale.numel() * 4
    for _ in range(3):
        loss = model(torch.randn(700, WIDTH, device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    time.sleep(0.3)
    finish_holding(sizes=sizes, parameter=model.scale.numel() * 4)


if __name__ == "__main__":
    main()
