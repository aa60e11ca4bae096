"""One thread sets and removes gradients; this one reads them meanwhile, as peakline does.

Reading `parameter.grad` here crashes with a torch that gives the GIL away while it destroys a
tensor.
"""

import json
import opcode
import sys
import threading
import time

import peakline._recorder as recorder
import torch

STORES = bytes(opcode.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
parameters = [torch.ones(1000, requires_grad=True) for _ in range(20)]
optimizer = torch.optim.SGD(parameters, 0.1)
ended = threading.Event()


def remove_one_by_one() -> None:
    for parameter in parameters:
        parameter.grad = None


def change(remove: object) -> None:
    while not ended.is_set():
        for parameter in parameters:
            parameter.grad = torch.ones(1000)
        remove()


def read() -> list[object]:
    return [recorder.gradient_of(parameter, STORES) for parameter in parameters]


counts = []
for remove in (remove_one_by_one, optimizer.zero_grad):
    ended.clear()
    other = threading.Thread(target=change, args=(remove,))
    other.start()
    end, count = time.monotonic() + float(sys.argv[1]), 0
    while time.monotonic() < end:
        for gradient in read():
            if gradient is not None:
                count += torch._C._data_address(gradient) != 0
        time.sleep(0)
    ended.set()
    other.join()
    counts.append(count)
for parameter in parameters:
    parameter.grad = torch.ones(1000)
same = all(gradient is one.grad for gradient, one in zip(read(), parameters, strict=True))
print(json.dumps({"counts": counts, "same": same}))
