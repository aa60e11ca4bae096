"""A barrier holds a rank until the others are there; run with torchrun --nproc-per-node 2."""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
sign = Path(sys.argv[1])
dist.barrier()
if rank == 1:
    time.sleep(0.3)
    sign.write_text("rank 1 was here")
dist.barrier()
assert sign.exists()
dist.destroy_process_group()
print(f"ok rank {rank}", flush=True)
