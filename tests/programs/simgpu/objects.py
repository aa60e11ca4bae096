"""Ranks exchange small values and objects over NCCL; run with torchrun --nproc-per-node 2."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
world = dist.get_world_size()

# Over NCCL objects compute their sizes on the device: those of a group of the host do not.
host_group = dist.new_group(backend="gloo")
told = [{"lr": 0.5, "names": ["a", "b"]} if rank == 0 else None]
dist.broadcast_object_list(told, src=0, group=host_group)
assert told == [{"lr": 0.5, "names": ["a", "b"]}], told

count = torch.tensor([10 + rank]).cuda()
dist.all_reduce(count)
assert count.item() == 21, count
largest = torch.tensor([0.5 + rank]).cuda()
dist.all_reduce(largest, op=dist.ReduceOp.MAX)
assert largest.cpu().tolist() == [1.5]

rows = [torch.empty(2, dtype=torch.long, device="cuda") for _ in range(world)]
dist.all_gather(rows, torch.tensor([rank, 7]).cuda())
assert [row.tolist() for row in rows] == [[0, 7], [1, 7]], rows

if rank == 0:
    dist.send(torch.tensor([3, 4]).cuda(), dst=1)
else:
    message = torch.empty(2, dtype=torch.long, device="cuda")
    dist.recv(message, src=0)
    assert message.tolist() == [3, 4], message

parts = torch.empty(2, dtype=torch.long, device="cuda")
dist.all_to_all_single(parts, torch.tensor([10 * rank, 10 * rank + 1]).cuda())
assert parts.tolist() == [rank, 10 + rank], parts

for _ in range(300):
    dist.all_reduce(torch.ones(1 << 20, device="cuda"))
# What a kernel wrote is not known to anybody.
assert (torch.ones(1, device="cuda") + 1).item() == 0

single = dist.new_group([0])
if rank == 0:
    alone = torch.tensor([5]).cuda()
    dist.all_reduce(alone, group=single)
    assert alone.item() == 5
dist.barrier()
dist.destroy_process_group()
print(f"ok rank {rank}", flush=True)
