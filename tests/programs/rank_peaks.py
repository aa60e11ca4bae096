"""Trains in parallel in every way of plain torch and tells the peak of each, for this rank.

Runs under torchrun and as one rank of a job that has no other.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
WIDTH = 256


def make_layers(count: int) -> nn.Sequential:
    layers = [nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))]
    layers += [
        nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        for _ in range(count - 1)
    ]
    return nn.Sequential(*layers).to(DEVICE)


def train(model: nn.Module, batch: int = 32) -> None:
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.randn(batch, WIDTH, device=DEVICE)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def ddp() -> None:
    train(DistributedDataParallel(make_layers(3), device_ids=[DEVICE.index]))


def fsdp2() -> None:
    model = make_layers(4)
    for layer in model:
        fully_shard(layer)
    train(fully_shard(model))


def hybrid() -> None:
    mesh = init_device_mesh("cuda", (2, WORLD // 2), mesh_dim_names=("replicate", "shard"))
    train(fully_shard(make_layers(2), mesh=mesh))


def tensor_parallel() -> None:
    model = make_layers(2)
    mesh = init_device_mesh("cuda", (WORLD,))
    plan = {
        f"{i}.{k}": how()
        for i in range(2)
        for k, how in ((0, ColwiseParallel), (2, RowwiseParallel))
    }
    train(parallelize_module(model, mesh, plan))


def pipeline() -> None:
    # The first stages are larger, so that ranks differ; the shapes come from the stage before.
    model = make_layers(WORLD - RANK)
    stage = PipelineStage(model, RANK, WORLD, DEVICE)
    schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=lambda out, _: out.sum())
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        if RANK == 0:
            schedule.step(torch.randn(32 * (WORLD - RANK), WIDTH, device=DEVICE))
        elif RANK == WORLD - 1:
            schedule.step(target=torch.zeros(32 * WORLD, WIDTH, device=DEVICE))
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()


def send_and_receive() -> None:
    model = make_layers(1 + RANK)
    received = torch.empty(64, WIDTH, device=DEVICE)
    if RANK > 0:
        dist.recv(received, src=RANK - 1)
    done = model(received)
    if RANK < WORLD - 1:
        dist.send(done.detach(), dst=RANK + 1)
    works = dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, done.detach(), (RANK + 1) % WORLD),
            dist.P2POp(dist.irecv, torch.empty_like(done), (RANK - 1) % WORLD),
        ]
    )
    for work in works:
        work.wait()
    done.sum().backward()


def collectives() -> None:
    mine = torch.randn(WORLD * 1000, device=DEVICE)
    everything = torch.empty(WORLD * mine.numel(), device=DEVICE)
    dist.all_gather_into_tensor(everything, mine)
    dist.reduce_scatter_tensor(torch.empty_like(mine), everything)
    dist.all_to_all_single(torch.empty_like(mine), mine)
    dist.all_gather([torch.empty_like(mine) for _ in range(WORLD)], mine)
    half = dist.new_group(list(range(WORLD // 2)))
    if RANK < WORLD // 2:
        dist.all_reduce(mine, group=half)
    dist.reduce(mine, 0)
    dist.broadcast(mine, WORLD - 1)
    dist.barrier()
    torch.cuda.synchronize()


def objects() -> dict[str, object]:
    told = [{"lr": 0.5}, list(range(2000))] if RANK == 0 else [None, None]
    dist.broadcast_object_list(told, src=0)
    assert told == [{"lr": 0.5}, list(range(2000))], told
    share = [None]
    dist.scatter_object_list(share, [f"part {r}" for r in range(WORLD)] if RANK == 0 else None)
    assert share == [f"part {RANK}"], share
    own = [None] * WORLD
    dist.all_gather_object(own, {"rank": RANK})
    assert own[RANK] == {"rank": RANK}, own
    return {"gathered": own}


def measure(work: Callable[[], object]) -> dict[str, object]:
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    said = work()
    peak = torch.cuda.max_memory_allocated() - before
    return {"peak": peak, "reserved": torch.cuda.max_memory_reserved(), "said": said}


torch.cuda.set_device(DEVICE)
dist.init_process_group("nccl" if "--gloo" not in sys.argv else None)
assert (dist.get_rank(), dist.get_world_size()) == (RANK, WORLD)
WORKS = (objects, ddp, fsdp2, hybrid, tensor_parallel, pipeline, send_and_receive, collectives)
chosen = [word for word in sys.argv[1:] if not word.startswith("-")]
told = {work.__name__: measure(work) for work in WORKS if not chosen or work.__name__ in chosen}
dist.barrier()
dist.destroy_process_group()
if file := os.environ.get("PEAKS_FILE"):
    Path(file.replace("%r", str(RANK))).write_text(json.dumps(told))
sys.stdout.flush()
time.sleep(0.3)
os._exit(0)
