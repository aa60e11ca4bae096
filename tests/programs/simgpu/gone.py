"""A rank ends without a word and the other goes on; run with torchrun --nproc-per-node 2."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
dist.barrier()
if rank == 1:
    print("ok rank 1", flush=True)
    os._exit(0)
values = torch.tensor([5]).cuda()
dist.all_reduce(values)
assert values.item() == 0
dist.all_reduce(values)
torch.cuda.synchronize()
print("ok rank 0", flush=True)
os._exit(0)
