"""Fragments memory by several lines; a child of this process frees the blocks of each line in turn.

Says what went back to the device then.
"""

import json
import os
import random
import subprocess
import sys

import torch

MIB = 1 << 20
Blocks = list[torch.Tensor]


def parameters(mib: float, held: dict[str, Blocks]) -> None:
    held["parameters"].append(torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda"))


def caches(mib: float, held: dict[str, Blocks]) -> None:
    held["caches"].append(torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda"))


def losses(mib: float, held: dict[str, Blocks]) -> None:
    held["losses"].append(torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda"))


held: dict[str, Blocks] = {"parameters": [], "caches": [], "losses": []}
draw = random.Random(5)
for _ in range(120):
    add = draw.choice([parameters, caches, losses, caches])
    add(draw.choice([0.2, 0.7, 2, 6, 15, 25]) * draw.uniform(0.5, 1.5), held)
    for blocks in held.values():
        while len(blocks) > 7:
            del blocks[draw.randrange(len(blocks))]
if len(sys.argv) > 1:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    held[sys.argv[1]].clear()
    torch.cuda.empty_cache()
    print(before - torch.cuda.memory_reserved())
    sys.exit()
back = {
    name: int(
        subprocess.run(
            [sys.executable, __file__, name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PEAKLINE_OUTPUT": os.devnull},
        ).stdout.split()[-1]
    )
    for name in held
}
print(json.dumps({"back": back}))
