"""Ends in the way its first argument names. Prints torch's peak as JSON before that."""

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path


def peakline(*words):
    """Run a command of peakline as a program of its own; returns its two outputs."""
    own = ("LD_PRELOAD", "PEAKLINE_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(own)}
    kept["PEAKLINE_CACHE_DIR"] = os.environ.get("PEAKLINE_CACHE_DIR", "")
    command = [sys.executable, "-m", "peakline", *words]
    return subprocess.run(command, capture_output=True, text=True, env=kept, check=False)


how = sys.argv[1]
if how == "argparse":
    argparse.ArgumentParser().parse_args(["--unknown"])

import torch  # noqa: E402

if how == "report":
    import peakline as api

    api.switch_allocator()
    api.report_stats()
    sys.exit()
if how == "cpu":
    print(float(torch.ones(3).sum()))
    sys.exit()

blocks = [torch.empty(1 << 20, device="cuda") for _ in range(3)]
said = {"peak": torch.cuda.max_memory_allocated(), "pid": os.getpid()}

if how == "live":
    said["table"] = json.loads(peakline("table", "--json", sys.argv[2]).stdout)
elif how == "replaced":
    other = ["run", "-q", "--simulate", "h200", "-f", "-o", sys.argv[2], __file__, "whole"]
    result = peakline(*other)
    said["other"] = [line for line in result.stdout.splitlines() if line.startswith("{")]
    said["stderr"] = result.stderr
    blocks.append(torch.empty(1 << 20, device="cuda"))
    said["peak"] = torch.cuda.max_memory_allocated()
elif how == "removes":
    Path(sys.argv[2]).unlink()
elif how.startswith("oom"):
    try:
        torch.empty(1 << 42, device="cuda")
    except torch.OutOfMemoryError:
        said["free"] = torch.cuda.mem_get_info()[0]
        print(json.dumps(said), flush=True)
        if how == "oom":
            raise
        sys.exit()
print(json.dumps(said), flush=True)
if how == "raise":
    raise ValueError("my mistake")
if how == "interrupt":
    # As a terminal does: the whole foreground group, ours and peakline. What runs in the background
    # is started with interrupts ignored: then Python has no handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getppid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
