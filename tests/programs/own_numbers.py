"""Uses descriptors at random numbers, as a program may that does not know whose they are.

own_numbers.py SEED STEPS LOWEST. Closes, opens and duplicates from LOWEST on, and takes memory of
the GPU between. The last file it writes, result.json, has every number and error it got, and the
digests of all its files.
"""

import hashlib
import json
import os
import random
import sys
from pathlib import Path

import torch

seed, steps, lowest = map(int, sys.argv[1:])
chance = random.Random(seed)
torch.empty(1, device="cuda")
os.closerange(lowest, 256)
got = []


def attempt(call, *arguments):
    try:
        got.append(call(*arguments))
    except OSError as error:
        got.append(-error.errno)


for step in range(steps):
    number = chance.randrange(lowest, 40)
    kind = chance.randrange(5)
    if kind == 0:
        attempt(os.close, number)
    elif kind == 1:
        attempt(os.dup2, number, chance.randrange(lowest, 40))
    elif kind == 2:
        attempt(os.write, number, b"%d " % step)
    elif kind == 3:
        attempt(os.open, f"own.{step % 20}", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    else:
        attempt(os.pwrite, number, b"%d " % step, chance.randrange(1 << 16))
    for size in range(chance.randrange(40)):
        torch.empty(step * 40 + size + 1, dtype=torch.uint8, device="cuda")
os.closerange(lowest, 256)
files = {
    file.name: hashlib.sha256(file.read_bytes()).hexdigest()
    for file in sorted(Path().glob("own.*"))
}
with Path("result.json").open("w") as result:
    json.dump({"got": got, "files": files, "next": os.dup(result.fileno())}, result)
