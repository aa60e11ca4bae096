"""The calls of torch.distributed._tools.memory_tracker, in the order of its docstring.

The argument is a file for its figures. With `torch` as second argument torch's own class is used.
"""

import json
import sys

import torch

if sys.argv[2:] == ["torch"]:
    from torch.distributed._tools.memory_tracker import MemoryTracker
else:
    from peakline.compat.memory_tracker import MemoryTracker


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(256, 1024)
        self.second = torch.nn.Linear(1024, 256)

    def forward(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"out": self.second(self.first(batch).relu())}


net = Net().cuda()
batch = torch.randn(64, 256, device="cuda")
tracker = MemoryTracker()
tracker.start_monitor(net)
net.zero_grad(True)
loss = net(batch)
if isinstance(loss, dict):
    loss = loss["out"]
loss.sum().backward()
net.zero_grad(set_to_none=True)
tracker.stop()
tracker.summary()
tracker.save_stats(sys.argv[1])
series = {str(index): list(one) for index, one in tracker.memories_allocated.items()}
print(json.dumps(series))
