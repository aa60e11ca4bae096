"""Every value of a device profile has a public source, and the source says that value."""

from __future__ import annotations

import functools
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from peakline.builds.device_profiles import simulated_devices
from peakline.commands import main
from simulated_gpu import ROOT

SIMGPU = ROOT / "preload" / "simulate" / "gpu"
sys.path.insert(0, str(SIMGPU))
from generate.profiles import read_profiles  # noqa: E402

ALL = read_profiles(SIMGPU / "profiles.json")
SLICES = [key for key in ALL if ":" in key]
PROFILES: dict[str, dict[str, Any]] = {key: ALL[key] for key in ALL if key not in SLICES}
MIB, GIB = 1 << 20, 1 << 30
# The number as a real device prints it.
PRINTED = {
    "capacity_bytes": lambda value: (
        f"({value} bytes)",
        f"{value // MIB}M",
        f"{value // MIB} M",
        f"Memory Size: {value}",
        f"capacity of {value / GIB:.2f} GiB",
        f" {value / GIB:.2f} No ",
        f"'Memory: {value / GIB} GB'",
    ),
    "multiprocessors": lambda value: (
        f"({value:03d})",
        f"multi_processor_count={value}",
        f"{value} SMs",
        f"SM 数：{value}",
        f"Number of Multiprocessors: {value}'",
        f" No {value}'",
    ),
    "clock_khz": lambda value: (f"{value // 1000} M", f"{value // 1000:,} M"),
    "memory_clock_khz": lambda value: (f"{value // 1000} M", f"{value // 1000:,} M"),
    "memory_bus_bits": lambda value: (f"{value}-bit", f"{value} bits"),
    "l2_bytes": lambda value: (
        f"{value} bytes",
        f"{value:,} bytes",
        f"L2 Cache Size: {value}'",
        f"L2_cache_size={value // MIB}MB",
    ),
    "is_integrated": lambda value: (("No", "Yes")[value] + "'",),
}
# By the names of NVIDIA's header.
BY_CAPABILITY = {
    "threads_per_multiprocessor": "max_threads_per_multiprocessor",
    "blocks_per_multiprocessor": "max_blocks_per_multiprocessor",
    "shared_per_multiprocessor_bytes": "max_shared_memory_per_multiprocessor",
}


@pytest.mark.parametrize("key", ALL)
def test_a_value_has_a_source_that_says_it(key: str) -> None:
    for name, entry in ALL[key].items():
        if name == "name":
            continue
        assert set(entry) == {"value", "source", "status"}, name
        assert len(entry["source"]) > 20, name
        assert entry["status"] in ("measured", "reported", "documented", "assumed"), name
        if entry["status"] == "reported":
            printed = PRINTED[name](entry["value"])
            assert any(text in entry["source"] for text in printed), name
        if entry["status"] == "documented":
            assert re.search(r"https://|NVIDIA .* white paper", entry["source"]), name


SOLD_GIB = {
    "a10": 24, "a40": 48, "a6000": 48, "gb200": 186, "h20": 96, "h100": 80, "h100-nvl": 94,
    "h100-pcie": 80, "l4": 24, "l40s": 48, "rtx2060": 6, "rtx3070": 8, "rtx3090": 24,
    "rtx4060": 8, "rtx4070": 12, "rtx4080": 16, "rtx4090": 24, "rtx5070": 12, "rtx5070ti": 16,
    "rtx5080": 16, "rtx5090": 32, "rtx6000ada": 48, "rtxpro6000": 96, "t4": 16,
}  # fmt: skip
SOLD_BYTES = {"b200": 192e9, "b300": 288e9, "gb10": 128e9, "gb300": 288e9, "h200": 141e9}
SOLD_BYTES |= {"h200-nvl": 141e9, **{key: gib * GIB for key, gib in SOLD_GIB.items()}}


@pytest.mark.parametrize("key", PROFILES)
def test_a_device_sees_about_the_memory_it_is_sold_with(key: str) -> None:
    gigabytes = re.search(r"-(\d+)$", key)
    expected = int(gigabytes[1]) * GIB if gigabytes else SOLD_BYTES[key]
    # ECC takes a sixteenth of GDDR memory, and the driver keeps something for itself.
    assert 0.91 * expected < PROFILES[key]["capacity_bytes"]["value"] <= 1.07 * expected


@pytest.mark.parametrize("key", SLICES)
def test_a_slice_has_about_the_memory_of_its_name(key: str) -> None:
    gpu, _, name = key.partition(":")
    parts, gigabytes = map(int, re.findall(r"\d+", name))
    values = {field: ALL[key][field]["value"] for field in ("capacity_bytes", "multiprocessors")}
    assert 0.88 * gigabytes <= values["capacity_bytes"] / GIB <= gigabytes
    assert values["capacity_bytes"] <= ALL[gpu]["capacity_bytes"]["value"]
    # The whole GPU has seven parts; a slice may have the rest of what they do not use.
    whole = ALL[gpu]["multiprocessors"]["value"]
    assert 0.8 * parts / 7 <= values["multiprocessors"] / whole <= min(1, 1.7 * parts / 7)


def test_the_listed_devices_are_those_of_the_simulated_gpu() -> None:
    listed = {device.name: device for device in simulated_devices()}
    assert list(listed) == list(ALL)
    for key, device in listed.items():
        memory = ALL[key]["capacity_bytes"]
        assert (device.memory_bytes, device.memory_status) == (memory["value"], memory["status"])
        major, minor = (ALL[key][f"compute_{part}"]["value"] for part in ("major", "minor"))
        assert (device.compute_capability, device.gpu) == (f"{major}.{minor}", ALL[key]["name"])


def test_the_list_of_devices_has_every_name_and_the_origin_of_its_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--simulate", "list"]) == 0
    printed = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split() for line in printed if line}
    for key, profile in ALL.items():
        status = profile["capacity_bytes"]["status"]
        assert rows[key][3] == status and rows[key][5:] == profile["name"].split()
    assert main(["fit", "--device", "list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["devices"]] == list(ALL)


@functools.cache
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
        own = body.split("return", 1)[0]
        # An architecture may begin as a copy of another.
        copied = re.search(r"arch_traits<arch_id::(sm_\d+)>\(\)", own)
        numbers = re.findall(r"__traits\.(\w+)\s*=\s*([\d *]+);", own)
        said[name] = said[copied[1]].copy() if copied else {}
        said[name] |= {field: _product(product) for field, product in numbers}
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
    # From 8.0 on the system keeps 1 KiB of every block; before 7.0 a block gets no more than 48.
    kept = 1024 if profile["compute_major"] >= 8 else 0
    most = profile["shared_per_multiprocessor_bytes"] - kept
    limit = said.get("max_shared_memory_per_block_optin", most)
    assert profile["shared_per_block_optin_bytes"] == (most if limit > 48 << 10 else limit)
