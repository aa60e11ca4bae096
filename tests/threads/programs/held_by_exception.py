"""The last error of a loop that halves its batch keeps the variables of the step that failed.

https://github.com/pytorch/pytorch/issues/18853
https://github.com/pytorch/pytorch/issues/27600
"""

import torch

torch.cuda.set_per_process_memory_fraction(0.001)
errors = []


def step(batch):
    kept = []
    for _ in range(64):
        kept += [torch.ones(batch, 1024, device="cuda")]  # cause


def attempt(batch):
    try:
        step(batch)
    except torch.cuda.OutOfMemoryError as error:
        errors.append(error)
        torch.cuda.empty_cache()


for batch in (4096, 2048, 1024):
    attempt(batch)
