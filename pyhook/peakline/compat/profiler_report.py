"""The report of pytorch-memory-tracing, line by line; MB are 1024 * 1024 bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
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


@dataclass
class _Made:
    count: int = 0
    size: int = 0
    shapes: dict[str, None] = field(default_factory=dict)  # in order of appearance


def creation_lines(events: Iterable[Event]) -> list[str]:
    """Return the number, bytes and shapes of each module's blocks in each phase."""
    made: dict[str, dict[str, _Made]] = defaultdict(lambda: defaultdict(_Made))
    for event in events:
        if event.kind == "alloc":
            sums = made[event.phase][event.module or "Unknown"]
            sums.count += 1
            sums.size += event.bytes or 0
            if event.shape is not None:
                sums.shapes[f"torch.Size({list(event.shape)})"] = None
    lines = ["", "===== TENSOR CREATION BY PHASE ====="]
    for phase, modules in made.items():
        lines += ["", f"Phase: {phase}"]
        for module, sums in modules.items():
            lines += [f"  Module: {module}", f"    Tensor count: {sums.count}"]
            lines += [f"    Total size: {sums.size / _MB:.2f} MB"]
            if sums.shapes:
                lines.append(f"    Tensor shapes: [{', '.join(sums.shapes)}]")
    return lines
