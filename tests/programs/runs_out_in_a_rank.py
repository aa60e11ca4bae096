"""Two ranks, of which the second runs out of memory."""

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    values = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(values)
    if rank == 1:
        torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
    dist.barrier()


main()
