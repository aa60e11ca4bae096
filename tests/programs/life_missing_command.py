"""Training that tries commands that do not exist; "SIGKILL": it is killed at its end.

subprocess starts children by vfork; one whose exec fails leaves by _exit in its parent's memory.
"""

import json
import os
import signal
import subprocess
import sys

import torch


def try_missing_command() -> bool:
    try:
        subprocess.run(["no-such-command-anywhere"], check=False)
    except FileNotFoundError:
        return True
    return False


weight = torch.ones(512, 512, device="cuda", requires_grad=True)
missing = []
for size in (1000, 2000, 3000):
    batch = torch.ones(size, 512, device="cuda")
    (batch @ weight).sum().backward()
    missing.append(try_missing_command())
kept = torch.ones(20_000_000, device="cuda")
del batch
torch.cuda.synchronize()
document = {
    "missing": missing,
    "peak": torch.cuda.max_memory_allocated(),
    "level": torch.cuda.memory_allocated(),
}
print(json.dumps(document), flush=True)
if "SIGKILL" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
