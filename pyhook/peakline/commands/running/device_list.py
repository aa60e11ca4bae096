"""The list of simulated devices: ``run --simulate list`` and ``fit --device list``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from peakline.base.output import write_json, write_lines
from peakline.base.sizes import size_of
from peakline.builds.device_profiles import SimulatedDevice, simulated_devices

LIST = "list"

_HEADER = ("Name", "Memory", "Memory is", "Compute", "GPU")


def print_devices(*, as_json: bool = False) -> None:
    """Print all devices and slices."""
    devices = simulated_devices()
    if as_json:
        document = {"schema_version": 1, "devices": [asdict(device) for device in devices]}
        write_json(document, indent=2)
    else:
        write_lines(*_lines(devices))


def _lines(devices: list[SimulatedDevice]) -> Iterator[str]:
    rows = [_HEADER, *map(_cells, devices)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    whole = 1 + sum(not device.is_slice for device in devices)
    yield from lines[:whole]
    yield ""
    yield "Slices of a GPU (MIG):"
    yield from lines[whole:]
    yield ""
    yield "Several of one: h200x8. Another size: h100:40GiB"
    yield (
        "measured: by peakline on the device; reported: by such a device, in public; assumed:"
        " worked out from what is known"
    )


def _cells(device: SimulatedDevice) -> tuple[str, ...]:
    return (
        device.name,
        size_of(device.memory_bytes),
        device.memory_status,
        device.compute_capability,
        device.gpu,
    )
