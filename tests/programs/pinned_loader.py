"""Feeds a GPU from a DataLoader that pins; prints what torch's allocators counted."""

from __future__ import annotations

import json
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """Two passes over the data, with workers."""
    kept = torch.empty(3 << 20, dtype=torch.uint8, pin_memory=True)
    data = TensorDataset(torch.randn(256, 1000), torch.randint(0, 10, (256,)))
    loader = DataLoader(data, batch_size=32, num_workers=2, pin_memory=True)
    model = torch.nn.Linear(1000, 10).cuda()
    for inputs, targets in loader:
        assert inputs.is_pinned()
        outputs = model(inputs.cuda(non_blocking=True))
        torch.nn.functional.cross_entropy(outputs, targets.cuda(non_blocking=True)).backward()
    stats = torch.cuda.host_memory_stats()
    said = {
        "pinned_peak_bytes": stats["allocated_bytes.peak"],
        "pinned_count": stats["num_host_alloc"],
        "gpu_peak_bytes": torch.cuda.max_memory_allocated(),
        "kept_line": kept.numel() and sys._getframe().f_code.co_firstlineno + 2,
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
