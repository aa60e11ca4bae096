"""What the programs of this folder share: torch's own counters, and an orderly end."""

import json
import os
import sys
import threading
from typing import Any, NoReturn

import torch


def peaks(device: int = 0) -> dict[str, int]:
    """Torch's own exact peaks since the last reset."""
    stats = torch.cuda.memory_stats(device)
    return {
        "allocated": stats["allocated_bytes.all.peak"],
        "requested": stats["requested_bytes.all.peak"],
    }


def peaks_of_all_devices() -> dict[str, dict[str, int]]:
    return {str(device): peaks(device) for device in range(torch.cuda.device_count())}


def print_at_once(said: Any) -> None:
    """A line of JSON in one write, so that lines of processes that share a pipe stay whole."""
    os.write(1, (json.dumps(said) + "\n").encode())


def finish(**said: Any) -> None:
    """Wait for the devices, let autograd's threads see the GIL, print the last line."""
    for device in range(torch.cuda.device_count()):
        torch.cuda.synchronize(device)
    for _ in range(3):
        pause = threading.Thread(target=lambda: None)
        pause.start()
        pause.join()
    print(json.dumps(said))


def finish_holding(**said: Any) -> NoReturn:
    """Like `finish`, and end at once: what is live stays live to the end of the trace.

    Also the safe end after backward(): torch itself aborts now and then when its backward thread
    asks for the GIL while Python shuts down.
    """
    finish(**said)
    sys.stdout.flush()
    os._exit(0)
