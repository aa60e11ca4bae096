"""Holds tensors of known sizes at its peak: prints, for each line, the sizes it allocated there."""

import sys

import torch
from counters import finish_holding, peaks


def allocate(size: int) -> torch.Tensor:
    line = sys._getframe().f_lineno + 1
    block = torch.empty(size, dtype=torch.uint8, device="cuda")
    sizes.setdefault(f"{line} allocate", []).append(size)
    return block


def allocate_many() -> list[torch.Tensor]:
    line = sys._getframe().f_lineno + 1
    blocks = [torch.empty(n * 512, dtype=torch.uint8, device="cuda") for n in (9, 4, 4, 1, 7, 5)]
    sizes[f"{line} allocate_many"] = [block.nbytes for block in blocks]
    return blocks


def allocate_with_gil() -> list[torch.UntypedStorage]:
    """Two lines between which this thread never gives up the GIL."""
    line = sys._getframe().f_lineno + 1
    first = torch.UntypedStorage(11 * 512, device="cuda")
    second = torch.UntypedStorage(13 * 512, device="cuda")
    sizes.setdefault(f"{line} allocate_with_gil", []).append(first.nbytes())
    sizes.setdefault(f"{line + 1} allocate_with_gil", []).append(second.nbytes())
    return [first, second]


sizes: dict[str, list[int]] = {}
kept: list[object] = [allocate(size) for size in (1, 3_000_000, 700, 700, 512)]
kept += allocate_many()
for _ in range(4):
    kept += allocate_with_gil()
gone = [torch.empty(50_000_000, dtype=torch.uint8, device="cuda") for _ in range(2)]
here = sys._getframe().f_lineno - 1
sizes[f"{here} <module>"] = [block.nbytes for block in gone]
expected = {key: list(values) for key, values in sizes.items()}
del gone
kept.append(allocate(40_000_000))
finish_holding(
    at_peak=expected, at_end={k: v for k, v in sizes.items() if "module" not in k}, peak=peaks()
)
