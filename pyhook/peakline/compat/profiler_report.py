"""The report of pytorch-memory-tracing, line by line; MB are 1024 * 1024 bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peakline.recording import Event

_MB = 1024 * 1024


def report_lines(stats: dict[str, Any], header: str | None = None) -> list[str]:
    """Return the lines about devices, phases and modules."""
    lines = ["", header or "===== MEMORY USAGE ESTIMATION ====="]
    lines += ["", "Peak Memory Usage:", *_devices(stats["peak"], "  ")]
    lines += ["", "Current Memory Usage:", *_devices(stats["current"], "  ")]
    lines += ["", "Memory Usage by Phase:"]
    lines += [f"  {name}: {size / _MB:.2f} MB" for name, size in stats["phases"].items()]
    lines += ["", "Memory Usage by Module:"]
    lines += [f"  {name}: {size / _MB:.2f} MB" for name, size in stats["modules"].items()]
    return lines


def _devices(sizes: dict[int, int], indent: str) -> list[str]:
    return [f"{indent}device_cuda:{device}: {size / _MB:.2f} MB" for device, size in sizes.items()]


def creation_lines(events: Iterable[Event]) -> list[str]:
    """Return how many blocks each module made in each phase, and their bytes."""
    made: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for event in events:
        if event.kind == "alloc":
            sums = made[event.phase][event.module or "Unknown"]
            sums[0] += 1
            sums[1] += event.bytes or 0
    lines = ["", "===== TENSOR CREATION BY PHASE ====="]
    for phase, modules in made.items():
        lines += ["", f"Phase: {phase}"]
        for module, (count, size) in modules.items():
            lines += [f"  Module: {module}", f"    Tensor count: {count}"]
            lines += [f"    Total size: {size / _MB:.2f} MB"]
    return lines
