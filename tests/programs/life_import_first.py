"""peakline before torch, without any wrapper; then a C++ exception of torch, and one out of memory.

Argument: the trace to write, or "none" where there is no GPU.
"""

import json
import sys

import peakline

peakline.switch_allocator()
import torch  # noqa: E402  (this order is what is tested)


def caught(work) -> str:
    try:
        work()
    except RuntimeError as error:
        return str(error)
    return ""


def train() -> None:
    model = torch.nn.Linear(1000, 1000).cuda()
    document["too large"] = caught(lambda: torch.empty(1 << 45, device="cuda"))
    model(torch.ones(100, 1000, device="cuda")).sum().backward()
    torch.cuda.synchronize()
    document["peak"] = torch.cuda.max_memory_allocated()


document = {"view": caught(lambda: torch.zeros(2).view(3))}
if sys.argv[1] != "none":
    with peakline.trace(sys.argv[1]):
        train()
    document["backend"] = peakline.status().backend
print(json.dumps(document))
