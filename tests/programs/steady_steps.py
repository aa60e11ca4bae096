"""Training steps while the preloaded call_counter counts calls: the first step, then steady ones.

Prints for each window what was counted of peakline's and of all calls, and torch's own count of
blocks made and given up in it.
"""

import ctypes

import torch
from counters import finish_holding
from torch import nn

# The first windows find new stacks.
WARM_WINDOWS, WINDOWS, STEPS_A_WINDOW = 6, 4, 1
KINDS = ("heap", "locks", "system calls")

counter = ctypes.CDLL(None)  # preloaded
counter.counter_start.restype = ctypes.c_bool


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        y, _ = self.attention(y, y, y)
        return x + y + self.mlp(x)


def events() -> int:
    stats = torch.cuda.memory_stats()
    return stats["allocation.all.allocated"] + stats["allocation.all.freed"]


def main() -> None:
    model = nn.Sequential(*(Block() for _ in range(6))).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)

    def steps(count: int) -> None:
        for _ in range(count):
            model(torch.ones(4, 32, 64, device="cuda")).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

    def window() -> dict[str, object]:
        counts = (ctypes.c_uint64 * (2 * len(KINDS)))()
        before = events()
        counter.counter_start()
        steps(STEPS_A_WINDOW)
        counter.counter_stop(counts)
        return {
            "peakline": dict(zip(KINDS, counts[: len(KINDS)], strict=True)),
            "all": dict(zip(KINDS, counts[len(KINDS) :], strict=True)),
            "events": events() - before,
        }

    traps = counter.counter_start()
    counted = []
    for number in range(WARM_WINDOWS + WINDOWS):  # from one line: another is another stack
        if number == WARM_WINDOWS:
            counter.counter_forget_stack()
        counted.append(window())
    counter.counter_show_stack()
    finish_holding(
        traps=traps,
        steps=STEPS_A_WINDOW,
        first=counted[0],
        windows=counted[WARM_WINDOWS:],
    )


if __name__ == "__main__":
    main()
