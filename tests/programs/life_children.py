"""Makes every kind of child; each that uses CUDA prints its role, process id and torch's own peak.

Forked before CUDA (but after its devices were counted), forked after, spawned, a subprocess,
DataLoader workers, os._exit, a child that frees what its parent allocated, one that is refused.
"""

import multiprocessing
import os
import subprocess
import sys

import torch
from counters import finish, print_at_once

MIB = 1 << 20


def use_cuda(role: str, mebibytes: int) -> None:
    kept = torch.ones(mebibytes * MIB, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    print_at_once({"role": role, "pid": os.getpid(), "peak": torch.cuda.max_memory_allocated()})
    del kept


def use_cuda_and_leave(role: str, mebibytes: int) -> None:
    use_cuda(role, mebibytes)
    os._exit(0)


def forked(work) -> int:
    """Run `work` in a forked child, which leaves by os._exit; return its exit status."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((1024,), index)


def is_refused(of_parent: torch.Tensor) -> None:
    """Leave with 0 if no use of CUDA works, new or through what the parent had."""
    uses = (
        (lambda: torch.ones(8, device="cuda"), "Cannot re-initialize CUDA in forked subprocess"),
        (lambda: of_parent + 1, "initialization error"),
    )
    for use, reason in uses:
        try:
            use()
        except RuntimeError as error:
            if reason in str(error):
                continue
        os._exit(1)


def main() -> None:
    torch.cuda.device_count()  # by NVML, which initialises nothing
    statuses = {"forked before": forked(lambda: use_cuda("forked before", 2))}
    kept = [torch.ones(16 * MIB, dtype=torch.uint8, device="cuda")]
    statuses["forked after"] = forked(kept.clear)
    statuses["refused"] = forked(lambda: is_refused(kept[0]))
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2):
        batch.cuda()
    spawn = multiprocessing.get_context("spawn")
    spawned = spawn.Process(target=use_cuda_and_leave, args=("spawned", 3))
    spawned.start()
    command = [sys.executable, __file__, "subprocess"]
    statuses["subprocess"] = subprocess.run(command, check=False).returncode
    spawned.join()
    statuses["spawned"] = spawned.exitcode
    kept.append(torch.ones(5 * MIB, dtype=torch.uint8, device="cuda"))
    finish(
        role="parent",
        pid=os.getpid(),
        peak=torch.cuda.max_memory_allocated(),
        statuses=statuses,
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        use_cuda(sys.argv[1], 4)
    else:
        main()
