"""Leaves the folder that it was started in before it uses CUDA, and so does a child of each kind.

Arguments: "child" has a program as a child, "spawn" only spawned ones that use CUDA.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile


def use_cuda() -> None:
    os.chdir(tempfile.mkdtemp(dir="."))
    import torch

    block = torch.empty(1 << 20, device="cuda")
    print(json.dumps({"peak": torch.cuda.max_memory_allocated(), "pid": os.getpid()}), flush=True)
    del block


if __name__ == "__main__":
    if "spawn" in sys.argv:
        process = multiprocessing.get_context("spawn").Process(target=use_cuda)
        process.start()
        process.join()
    else:
        use_cuda()
    if "child" in sys.argv:
        subprocess.run([sys.executable, __file__, "of another"], check=True)
