"""Finds out why this machine cannot run on a real GPU. Loads the driver but does not call it."""

from __future__ import annotations

import ctypes
from pathlib import Path


def missing_device() -> str:
    """Return a reason such as "this machine has no NVIDIA driver"; '' if nothing is missing."""
    # dxg is the GPU under WSL (Linux on Windows).
    if any(Path("/dev", name).exists() for name in ("nvidiactl", "dxg")):
        return ""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "this machine has no NVIDIA driver"
    return "the NVIDIA driver finds no GPU on this machine"
