"""Turns profiles.json and calibration.json into the table that is compiled into the libraries."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    "is_integrated",
)
_SEPARATE_MEMORY = {
    "value": 0,
    "source": "a GPU on a card or module has memory of its own",
    "status": "assumed",
}
_GRANULE_BYTES = 2 << 20


def profile_table(path: Path, calibration_path: Path) -> str:
    """The C++ text of kDeviceProfiles."""
    constants = json.loads(calibration_path.read_text())
    profiles = read_profiles(path)
    rows = [
        _row(key, {**profile, **constants_of(key, profiles, constants)}, path)
        for key, profile in profiles.items()
    ]
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


def read_profiles(path: Path) -> dict[str, dict[str, Any]]:
    """Every device, then every slice, by its key: its name, and each value with its origin."""
    document = json.loads(path.read_text())
    profiles = {
        key: _whole_profile(profile, document["capabilities"])
        for key, profile in document["profiles"].items()
    }
    for key, slices in document["slices"].items():
        for name, part in slices.items():
            if name != "origin":
                own = dict(_with_origins({"origin": slices["origin"], **part}))
                mig_name = f"{profiles[key]['name']} MIG {name}"
                profiles[f"{key}:{name}"] = {**profiles[key], "name": mig_name, **own}
    return profiles


def _whole_profile(profile: dict[str, Any], capabilities: dict[str, Any]) -> dict[str, Any]:
    capability = profile["compute_capability"]
    major, minor = map(int, capability.split("."))
    shared = {"compute_major": major, "compute_minor": minor, **capabilities[capability]}
    values = {name: value for name, value in profile.items() if name != "compute_capability"}
    return {
        "is_integrated": _SEPARATE_MEMORY,
        **dict(_with_origins(shared)),
        **dict(_with_origins(values)),
    }


def _with_origins(entries: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give plain numbers the origin that they share."""
    for name, entry in entries.items():
        if isinstance(entry, int):
            yield name, {"value": entry, **entries["origin"]}
        elif name != "origin":
            yield name, entry


def constants_of(
    key: str, profiles: dict[str, dict[str, Any]], constants: dict[str, Any]
) -> dict[str, Any]:
    """The entries of calibration.json for a device or slice."""
    devices = constants["devices"]
    whole = key.partition(":")[0]
    if whole != key:
        like, given = whole, constants_of(whole, profiles, constants)
    else:
        like = constants["like"].get(_capability(profiles[key]), "")
        given = devices.get(like, {})
    if key in devices or not given:
        return {**constants["default"], **devices.get(key, {})}
    return {**constants["default"], **_adapted(given, profiles[key], like, profiles[like])}


def _adapted(
    given: dict[str, Any], profile: dict[str, Any], like: str, other: dict[str, Any]
) -> dict[str, Any]:
    """The constants of a similar device; a context has memory for every multiprocessor."""
    own, theirs = (one["multiprocessors"]["value"] for one in (profile, other))
    adapted = {
        name: {**entry, "source": f"as {like}: {entry['source']}", "status": "assumed"}
        for name, entry in given.items()
    }
    context = adapted["context_bytes"]
    granules = context["value"] * own // theirs // _GRANULE_BYTES
    if own != theirs:
        context["value"] = granules * _GRANULE_BYTES
        context["source"] += f"; in proportion to {own} of {theirs} multiprocessors"
    return adapted


def _capability(profile: dict[str, Any]) -> str:
    return f"{profile['compute_major']['value']}.{profile['compute_minor']['value']}"


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
