"""Allocates, prints a line, and ends the way named on the command line."""

import os
import signal
import sys

import torch

kept = torch.empty(1_000_000, device="cuda")
torch.cuda.synchronize()
print("about to end", flush=True)
how = sys.argv[1]
if how == "exit-3":
    sys.exit(3)
if how == "exit-text":
    sys.exit("a last word")
if how == "exception":
    raise ValueError("on purpose")
if how == "out-of-memory":
    torch.empty(1 << 42, device="cuda")
if how == "_exit-5":
    os._exit(5)
if how.startswith("SIG"):
    os.kill(os.getpid(), getattr(signal, how))
