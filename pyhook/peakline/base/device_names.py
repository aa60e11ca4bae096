"""Names of devices in reports: the number of a GPU, or "pinned" and "cpu" for memory of the host.

See Note [Memory of the host] in allocator/record/format/trace_format.h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Every program has this much memory of the host; pages do not show less.
LEAST_HOST_BYTES = 1 << 20

_MOST_DIGITS = 20  # digits of a number of bytes
_HOST = {"pinned": "pinned memory", "cpu": "CPU memory"}


def is_gpu(device: int | str) -> bool:
    """Return whether the device is a GPU and not memory of the host."""
    return device not in _HOST


def name_of_device(device: int | str) -> str:
    """Return "device 0", "pinned memory" or "CPU memory"."""
    return _HOST.get(str(device), f"device {device}")


def memory_of_device(meta: Mapping[str, str], device: int | str) -> int:
    """Return the total bytes of a device from the metadata of a trace; 0 if they are unknown."""
    text = meta.get(f"device.{device}.total_bytes", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _MOST_DIGITS else 0


def highest_peak(devices: Sequence[dict[str, Any]]) -> int:
    """Return the highest `peak_bytes` of the GPUs; without a GPU, of the memory of the host."""
    gpus = [one for one in devices if is_gpu(one["device"])]
    return max((int(one["peak_bytes"]) for one in gpus or devices), default=0)


def is_worth_showing(device: dict[str, Any]) -> bool:
    """Return whether this device held anything; memory of the host must reach a bound."""
    least = 1 if is_gpu(device["device"]) else LEAST_HOST_BYTES
    return int(device["peak_bytes"]) >= least
