"""Uses a device beyond torch's allocator: cuBLAS, pinned memory, and what is asked for by words.

Says what the driver reports at many moments, with torch's own counters.
"""

from __future__ import annotations

import json
import os
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MOMENTS: list[dict[str, int]] = []


def note_moment() -> None:
    """Keep what is in use now; nothing happens for a while before and after it."""
    time.sleep(0.003)
    free, total = torch.cuda.mem_get_info()
    MOMENTS.append(
        {
            "monotonic_ns": time.monotonic_ns(),
            "used_bytes": total - free,
            "allocated_bytes": torch.cuda.memory_allocated(),
            "reserved_bytes": torch.cuda.memory_reserved(),
        }
    )
    time.sleep(0.003)


def train() -> None:
    """Train a small network, a moment after each thing that may take memory."""
    net = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
    note_moment()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        loss = net(torch.zeros(512, 1024, device="cuda")).sum()
        note_moment()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        note_moment()
    del loss
    torch.cuda.empty_cache()
    note_moment()


def load_pinned() -> None:
    """Read batches through pinned memory."""
    for (batch,) in DataLoader(
        TensorDataset(torch.zeros(64, 4096)), batch_size=16, pin_memory=True
    ):
        batch.cuda(non_blocking=True)
    note_moment()


def talk() -> None:
    """Reduce over all ranks, which gives NCCL its buffers."""
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    ones = torch.ones(1 << 20, device="cuda")
    torch.distributed.all_reduce(ones)
    note_moment()


def main() -> None:
    """Do what the words say."""
    for word in sys.argv[1:]:
        {"train": train, "pinned": load_pinned, "nccl": talk}[word]()
    said = json.dumps(
        {
            "moments": MOMENTS,
            "max_reserved_bytes": torch.cuda.max_memory_reserved(),
            "rank": os.environ.get("RANK", "0"),
        }
    )
    os.write(1, f"{said}\n".encode())  # in one piece: ranks share the pipe
    if "nccl" in sys.argv:
        torch.distributed.destroy_process_group()


main()
