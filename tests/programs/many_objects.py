"""Has a million objects, and one tensor behind them; prints how two searches went."""

import json
import sys

import peakline
import torch


class Item:
    def __init__(self, following):
        self.following = following


def chain(length, end):
    for _ in range(length):
        end = Item(end)
    return end


tensor = torch.zeros(1 << 20, device="cuda")
chains = [chain(1000, [tensor]) for _ in range(int(sys.argv[1]) // 1000)]
del tensor


def search(seconds):
    found = peakline.holders(blocks=5, seconds=seconds)
    return {
        "objects": found.object_count,
        "complete": found.is_complete,
        "paths": [holder.path for block in found.blocks for holder in block.holders],
        "more": [block.more_holders for block in found.blocks],
    }


print(json.dumps({"short": search(0.02), "long": search(60.0)}))
