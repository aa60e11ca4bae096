"""Turns profiles.json and calibration.json into the table that is compiled into the libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .wheels import BuildError

# The origins of a value; profiles.json explains them.
STATUSES = ("measured", "reported", "documented", "assumed")
# In the order of the members of DeviceProfile in model/devices/profiles.h.
_FIELDS = (
    "capacity_bytes",
    "context_bytes",
    "first_launch_bytes",
    "cublas_handle_bytes",
    "cudnn_handle_bytes",
    "nccl_communicator_bytes",
    "shared_per_multiprocessor_bytes",
    "shared_per_block_optin_bytes",
    "l2_bytes",
    "compute_major",
    "compute_minor",
    "multiprocessors",
    "threads_per_multiprocessor",
    "blocks_per_multiprocessor",
    "memory_bus_bits",
    "memory_clock_khz",
    "clock_khz",
)


def profile_table(path: Path, calibration_path: Path) -> str:
    """The C++ text of kDeviceProfiles."""
    profiles: dict[str, dict[str, Any]] = json.loads(path.read_text())["profiles"]
    constants = json.loads(calibration_path.read_text())
    rows = []
    for key, profile in profiles.items():
        own = constants["devices"].get(key, {})
        rows.append(_row(key, {**profile, **constants["default"], **own}, path))
    return "\n".join(
        [
            "namespace simgpu {",
            "namespace {",
            "constexpr DeviceProfile kDeviceProfiles[] = {",
            *rows,
            "};",
            "}  // namespace",
            "}  // namespace simgpu",
            "",
        ]
    )


def _row(key: str, profile: dict[str, Any], path: Path) -> str:
    missing = [name for name in ("name", *_FIELDS) if name not in profile]
    if missing:
        raise BuildError(f"{path}: profile '{key}' lacks {', '.join(missing)}")
    for name in _FIELDS:
        entry = profile[name]
        if not isinstance(entry["value"], int) or entry.get("status") not in STATUSES:
            raise BuildError(f"{path}: {key}.{name} needs a whole value and a status")
        if not entry.get("source"):
            raise BuildError(f"{path}: {key}.{name} needs a source")
    values = ", ".join(str(profile[name]["value"]) for name in _FIELDS)
    return f'    {{"{key}", "{profile["name"]}", {values}}},'
