"""Holds blocks of known sizes for known times; all are live at the peak of the step."""

import time

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
        sizes["freed within the phase"] = 9 << 20
        scratch = torch.empty(9 << 20, dtype=torch.uint8, device="cuda")
        y = x.exp() * self.scale
        total = y.sum()
        del scratch
        # Nothing else is allocated while it lives.
        sizes["freed within the operator"] = 40 << 20
        torch.empty(40 << 20, dtype=torch.uint8, device="cuda")
        return total


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
