"""Each of the ranks writes the same checkpoint, and its part of a distributed one."""

import os
from pathlib import Path

import torch
import torch.distributed.checkpoint
from counters import print_at_once

torch.distributed.init_process_group("nccl")
rank = torch.distributed.get_rank()
torch.cuda.set_device(rank)
torch.ones(8, device="cuda")
torch.save({"x": torch.full((4,), 5.0)}, "old.pt")
torch.distributed.barrier()
value = float(torch.load("old.pt")["x"][0])
torch.distributed.checkpoint.save({f"of {rank}": torch.ones(3)}, checkpoint_id="ck/step1")
parts = len(list(Path("ck/step1").glob("*.distcp")))
print_at_once([value, parts])
torch.distributed.barrier()
os._exit(0)
