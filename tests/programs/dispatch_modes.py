"""Runs operators below one dispatch mode and below two; prints what the inner one sees.

Each is [operator, blocks that it made, bytes that are allocated after it]; those that make no block
are left out. One operator is written in Python and calls others.
"""

import torch
from counters import finish_holding
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

seen: list[list[object]] = []


def made_blocks() -> int:
    return torch.cuda.memory_stats()["allocation.all.allocated"]


class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ARG002
        before = made_blocks()
        result = func(*args, **(kwargs or {}))
        if made_blocks() != before:
            allocated = torch.cuda.memory_allocated()
            seen.append([func.name(), made_blocks() - before, allocated])
        return result


class PassOn(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ARG002
        return func(*args, **(kwargs or {}))


@torch.library.custom_op("peakline_tests::blend", mutates_args=())
def blend(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    left = x * 2
    right = torch.ops.aten.mul(y, 3)
    return (left + right).relu()


def main() -> None:
    device = "cuda"
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).to(device)
    x = torch.randn(256, 512, device=device)
    torch.cuda.synchronize()
    with torch.no_grad(), Watch():
        mixed = blend(x, x)
        sums = [mixed.mm(mixed.t()).add(1) for _ in range(2)]
    with PassOn(), Watch():
        # The gradient of a sum is expanded, so that its products copy it first.
        loss = model(x).sum()
        loss.backward()
        twice = blend(x, x)
    with Watch(), PassOn():
        again = (x @ x.t()).softmax(-1)
    finish_holding(seen=seen, kept=len([loss, twice, again, *sums]))


if __name__ == "__main__":
    main()
