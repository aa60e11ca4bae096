"""Train a small network on several GPUs with DistributedDataParallel, one process for each.

An ordinary script. It does not know about peakline; every rank gets a trace of its own:

    peakline run -- torchrun --nproc-per-node 2 examples/torchrun_ddp.py
    peakline run --simulate h200x2 -- torchrun --nproc-per-node 2 examples/torchrun_ddp.py
"""

import argparse
import os
import sys

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=256, help="samples per rank")
    return parser.parse_args()


def build(width: int, layers: int) -> nn.Module:
    blocks = (nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(layers))
    return nn.Sequential(*blocks, nn.Linear(width, 10))


def say(line: str) -> None:
    """Print in one write: torchrun does not buffer, and lines of several ranks would mix."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    arguments = parse_arguments()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl", device_id=device)
    rank = torch.distributed.get_rank()
    model = build(arguments.width, arguments.layers).to(device)
    model = DistributedDataParallel(model, device_ids=[device.index])
    optimizer = torch.optim.AdamW(model.parameters())
    # The last rank gets the larger batch: its trace is the heavier one.
    batch = arguments.batch * (rank + 1)
    for step in range(arguments.steps):
        inputs = torch.randn(batch, arguments.width, device=device)
        labels = torch.randint(10, (batch,), device=device)
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        say(f"rank {rank} step {step}: loss {loss.item():.3f}")
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    say(f"rank {rank} max_memory_allocated: {peak}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
