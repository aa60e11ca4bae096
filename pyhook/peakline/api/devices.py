"""What this machine lacks for a run on a real GPU. Touches no driver beyond loading it."""

from __future__ import annotations

import ctypes
from pathlib import Path


def missing_device() -> str:
    """Return "this machine has no NVIDIA driver", the like, or '' where nothing is missing."""
    # dxg is the GPU of a Linux under Windows.
    if any(Path("/dev", name).exists() for name in ("nvidiactl", "dxg")):
        return ""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "this machine has no NVIDIA driver"
    return "the NVIDIA driver finds no GPU on this machine"
