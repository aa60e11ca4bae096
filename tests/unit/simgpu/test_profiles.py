"""Every value of a device profile has a public source, and the source says that value."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated_gpu import ROOT

SIMGPU = ROOT / "preload" / "simulate" / "gpu"
PROFILES: dict[str, dict[str, Any]] = json.loads((SIMGPU / "profiles.json").read_text())["profiles"]
VALUES = [
    pytest.param(key, name, entry, id=f"{key} {name}")
    for key, profile in PROFILES.items()
    for name, entry in profile.items()
    if name != "name"
]
MIB = 1 << 20
# The number as a real device prints it.
PRINTED = {
    "capacity_bytes": lambda value: (f"({value} bytes)", f"{value // MIB}M"),
    "multiprocessors": lambda value: (f"({value:03d})", f"multi_processor_count={value}"),
    "clock_khz": lambda value: (f"{value // 1000} M",),
    "memory_clock_khz": lambda value: (f"{value // 1000} M",),
    "memory_bus_bits": lambda value: (f"{value}-bit",),
    "l2_bytes": lambda value: (f"{value} bytes", f"{value // MIB}MB"),
}
# By the names of NVIDIA's header.
BY_CAPABILITY = {
    "threads_per_multiprocessor": "max_threads_per_multiprocessor",
    "blocks_per_multiprocessor": "max_blocks_per_multiprocessor",
    "shared_per_multiprocessor_bytes": "max_shared_memory_per_multiprocessor",
}


@pytest.mark.parametrize(("key", "name", "entry"), VALUES)
def test_a_value_has_a_source_that_says_it(key: str, name: str, entry: dict[str, Any]) -> None:
    assert set(entry) == {"value", "source", "status"}
    assert len(entry["source"]) > 20
    assert entry["status"] in ("measured", "reported", "documented", "assumed")
    if entry["status"] == "reported":
        assert any(text in entry["source"] for text in PRINTED[name](entry["value"]))
    if entry["status"] == "documented":
        assert re.search(r"https://|NVIDIA .* white paper", entry["source"])


@pytest.mark.parametrize("key", PROFILES)
def test_a_device_sees_about_the_memory_it_is_sold_with(key: str) -> None:
    sold = {"h200": 141e9, "b200": 192e9, "a10": 24 << 30, "l4": 24 << 30, "t4": 16 << 30}
    sold |= {"l40s": 48 << 30, "rtx3090": 24 << 30, "rtx4090": 24 << 30, "rtx5090": 32 << 30}
    gigabytes = re.search(r"-(\d+)$", key)
    expected = sold.get(key) or (int(gigabytes[1]) if gigabytes else 80) << 30
    # ECC takes a sixteenth of GDDR memory, and the driver keeps something for itself.
    assert 0.91 * expected < PROFILES[key]["capacity_bytes"]["value"] <= 1.07 * expected


def traits() -> dict[str, dict[str, int]]:
    """What CCCL's header says, by architecture; it comes with the wheels of CUDA 13."""
    found = [Path(p) / "nvidia/cu13/include/cccl/cuda/__device/arch_traits.h" for p in sys.path]
    header = next((file for file in found if file.exists()), None)
    if header is None:
        pytest.skip("these wheels have no cuda/__device/arch_traits.h (CUDA 13 has)")
    text = header.read_text()
    parts = re.split(r"arch_traits<arch_id::(sm_\d+)>\(\) noexcept", text)
    said: dict[str, dict[str, int]] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        numbers = re.findall(r"__traits\.(\w+)\s*=\s*([\d *]+);", body.split("return", 1)[0])
        said[name] = {field: _product(product) for field, product in numbers}
    return said


def _product(text: str) -> int:
    result = 1
    for factor in text.split("*"):
        result *= int(factor)
    return result


@pytest.mark.parametrize("key", PROFILES)
def test_limits_of_a_compute_capability_are_those_of_nvidias_header(key: str) -> None:
    profile = {name: e["value"] for name, e in PROFILES[key].items() if name != "name"}
    said = traits()[f"sm_{profile['compute_major']}{profile['compute_minor']}"]
    for name, theirs in BY_CAPABILITY.items():
        assert profile[name] == said[theirs], name
    # From 8.0 on the system keeps 1 KiB of every block.
    kept = 1024 if profile["compute_major"] >= 8 else 0
    assert (
        profile["shared_per_block_optin_bytes"] == profile["shared_per_multiprocessor_bytes"] - kept
    )
