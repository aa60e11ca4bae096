"""A job of several ranks; each holds more than the one before and prints torch's own peak.

torchrun ... rank_job.py              a rank of a launcher
rank_job.py spawn PORT COUNT          starts its ranks itself, and only torch is told their ranks
... dies 1                            rank 1 is killed after its first step
... fails                             the first attempt fails after its first step
"""

from __future__ import annotations

import os
import signal
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from counters import print_at_once
from torch.distributed.device_mesh import init_device_mesh

STEPS = 2
WIDTH = 256


def train(rank: int, world: int) -> None:
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if world % 2 == 0 and world > 2:
        init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("dp", "tp"))
    model = torch.nn.Linear(WIDTH * (rank + 1), WIDTH).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(STEPS):
        model(torch.ones(64, WIDTH * (rank + 1), device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.barrier()
        peak = torch.cuda.max_memory_allocated()
        print_at_once({"rank": rank, "pid": os.getpid(), "peak": peak})
        end_early(rank)
    dist.destroy_process_group()


def end_early(rank: int) -> None:
    if sys.argv[-2:] == ["dies", str(rank)]:
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[-1] == "fails" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        sys.exit(3)


def spawned(rank: int, port: str, world: int) -> None:
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=world)
    train(rank, world)


if __name__ == "__main__":
    if sys.argv[1:2] == ["spawn"]:
        count = int(sys.argv[3])
        mp.spawn(spawned, args=(sys.argv[2], count), nprocs=count)
    else:
        dist.init_process_group("gloo")
        train(dist.get_rank(), dist.get_world_size())
