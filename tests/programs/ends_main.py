"""Ends its main in the way named on the command line. What torch counts then is the last line.

Exit callbacks of its own, registered before and after CUDA starts, free what is held.
"""

import atexit
import json
import sys
import threading

import torch
from torch import nn

held: list[torch.Tensor] = []
atexit.register(held.clear)


class Doubles(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1 << 20))

    def forward(self, x: torch.Tensor, fails: bool) -> torch.Tensor:
        y = x * self.scale
        if fails:
            finish()
            raise ValueError("as asked for")
        return y


def finish() -> None:
    print(json.dumps({"level": torch.cuda.memory_allocated()}), flush=True)


def work_on() -> None:
    threading.main_thread().join()
    held.append(torch.empty(7 << 20, dtype=torch.uint8, device="cuda"))
    finish()


model = Doubles().cuda()
held.append(torch.empty(5 << 20, dtype=torch.uint8, device="cuda"))
atexit.register(model.to, "cpu")
way = sys.argv[1]
output = model(torch.ones(1 << 20, device="cuda"), way == "raises")
if way == "thread":
    threading.Thread(target=work_on).start()
else:
    finish()
if way == "exits":
    sys.exit(3)
