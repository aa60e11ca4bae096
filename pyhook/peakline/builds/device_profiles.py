"""Reads which GPUs can be simulated, from profiles.json of the simulated GPU.

The simulated GPU has the same values compiled in; here they are listed and checked as words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peakline.builds.native_build import source_root


@dataclass(frozen=True)
class SimulatedDevice:
    """One GPU, or one slice of a GPU (MIG). The fields are those of the printed list."""

    name: str  # for --simulate
    memory_bytes: int
    memory_status: str  # measured, reported, documented or assumed
    compute_capability: str
    gpu: str

    @property
    def is_slice(self) -> bool:
        """Return whether this is a slice of a GPU."""
        return ":" in self.name


def simulated_devices() -> list[SimulatedDevice]:
    """Return all GPUs, then all slices."""
    file = source_root() / "preload" / "simulate" / "gpu" / "profiles.json"
    document = json.loads(file.read_text())
    profiles = document["profiles"]
    devices = [
        SimulatedDevice(key, *_memory(profile, {}), profile["compute_capability"], profile["name"])
        for key, profile in profiles.items()
    ]
    for key, slices in document["slices"].items():
        gpu = profiles[key]
        devices += [
            SimulatedDevice(
                f"{key}:{name}",
                *_memory(part, slices["origin"]),
                gpu["compute_capability"],
                f"{gpu['name']} MIG {name}",
            )
            for name, part in slices.items()
            if name != "origin"
        ]
    return devices


def _memory(entries: Mapping[str, Any], origin: Mapping[str, str]) -> tuple[int, str]:
    """Return the capacity and its status; a plain number has the origin of its group."""
    entry = entries["capacity_bytes"]
    if isinstance(entry, int):
        return entry, entries.get("origin", origin)["status"]
    return entry["value"], entry["status"]
