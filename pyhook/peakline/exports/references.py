"""The file formats of earlier memory tools, with their names and units.

MB are 1024 * 1024 bytes in all of them.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, BinaryIO

from peakline.base.device_names import is_gpu
from peakline.base.output import json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peakline.exports.asked import Asked
    from peakline.recording import Location, Recording, StageRow

_MB = 1024 * 1024
_STAGE_EVENTS = {
    "pre forward": "layer_enter",
    "post forward": "layer_exit",
    "pre backward": "layer_enter",
    "post backward": "layer_exit",
}


def write_memory_snapshot(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write the tensors of a moment; unknown shapes are null."""
    tensors = recording.tensors(**asked.of_moment(min_bytes=asked.min_bytes))

    def texts(stack: Sequence[Location] | None) -> list[str]:
        return [str(frame) for frame in stack or ()]

    rows = [
        {
            "size_bytes": one.bytes,
            "size_mb": one.bytes / _MB,
            "shape": None if one.shape is None else list(one.shape),
            "module": one.module,
            "phase": one.phase,
            "create_stack_trace": texts(one.create_stack),
            "release_stack_trace": texts(one.release_stack),
        }
        for one in tensors
    ]
    device = tensors.document["device"]
    device = f"cuda:{device}" if is_gpu(device) else device
    document = {device: {"peak_memory_mb": tensors.document["peak_bytes"] / _MB, "tensors": rows}}
    out.write(json_text(document, indent=2).encode())


def timeline_document(recording: Recording, asked: Asked) -> dict[str, Any]:
    """Return events, layers and totals under the names of gpu_optimizer's MemoryTracer."""
    events = []
    for event in recording.events(**asked.of_part()):
        if event.kind in ("alloc", "free", "free_requested") and event.device is not None:
            levels = (event.allocated_bytes or 0, event.reserved_bytes or 0)
            kind = "alloc" if event.kind == "alloc" else "free"
            events.append(
                _tracer_event(event.seconds, kind, event.bytes or 0, event.module, *levels)
            )
    for stage in recording.stages(top=0, during=asked.during, device=asked.device):
        if edge := _STAGE_EVENTS.get(stage.stage):
            levels = (stage.levels.allocated_bytes, stage.levels.reserved_bytes or 0)
            events.append(_tracer_event(stage.seconds, edge, 0, stage.module, *levels))
    events.sort(key=lambda one: one["timestamp"])
    layers = recording.layers(top=0, during=asked.during, device=asked.device)
    layer_stats = {
        one.name: {
            "layer_name": one.name,
            "peak_allocated": one.peak_allocated_bytes,
            "peak_reserved": one.peak_reserved_bytes,
            "total_allocations": one.alloc_count,
            "total_deallocations": one.free_count,
            "avg_fragmentation": one.free_share or 0.0,
            "duration_ms": one.duration_ms,
        }
        for one in layers
    }
    return {"events": events, "layer_stats": layer_stats, "summary": _summary(events, layer_stats)}


def _tracer_event(
    seconds: float, kind: str, size: int, layer: str | None, allocated: int, reserved: int
) -> dict[str, Any]:
    return {
        "timestamp": seconds,
        "event_type": kind,
        "size_bytes": size,
        "layer_name": layer,
        "allocated_bytes": allocated,
        "reserved_bytes": reserved,
        "fragmentation_ratio": (reserved - allocated) / reserved if reserved else 0.0,
    }


def _summary(events: list[dict[str, Any]], layers: dict[str, Any]) -> dict[str, Any]:
    ratios = [one["fragmentation_ratio"] for one in events if one["reserved_bytes"]]
    return {
        "total_events": len(events),
        "total_layers": len(layers),
        "peak_allocated_mb": max((one["allocated_bytes"] for one in events), default=0) / _MB,
        "peak_reserved_mb": max((one["reserved_bytes"] for one in events), default=0) / _MB,
        "avg_fragmentation": sum(ratios) / len(ratios) if ratios else 0.0,
    }


def write_memory_timeline(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write `timeline_document` as JSON."""
    out.write(json_text(timeline_document(recording, asked), indent=2).encode())


def tracker_document(recording: Recording, asked: Asked) -> dict[str, Any]:
    """Return levels after every operator under the names of torch's memory_tracker.

    The name of a marker in a later iteration ends with its step.
    """
    ops = recording.ops(top=0, during=asked.during, device=asked.device)
    first = ops[0].op_index if ops else 0

    def series(name: str) -> dict[int, tuple[str, float]]:
        return {
            one.op_index - first: (one.name, (getattr(one, f"{name}_bytes") or 0) / _MB)
            for one in ops
        }

    markers: dict[str, int] = {}
    for one in ops.document["markers"]:
        name = one["name"] if one["name"] not in markers else f"{one['name']}@{one['step']}"
        if 0 <= one["op_index"] - first <= len(ops):
            markers.setdefault(name, one["op_index"] - first)
    return {
        "memories_allocated": series("allocated"),
        "memories_active": series("active"),
        "memories_reserved": series("reserved"),
        "markers": markers,
        "num_alloc_retries": 0,
        "op_index": len(ops),
    }


def write_memory_tracker(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write `tracker_document` as a pickle of plain values, which torch's class loads."""
    pickle.dump(tracker_document(recording, asked), out, protocol=4)


def trace_line(stage: StageRow, start: float | None = None) -> dict[str, Any]:
    """Return a stage under the names of tdynamics' MemTracer; `start` adds the time of day."""
    levels = {
        "allocated": stage.levels.allocated_bytes,
        "cached": stage.levels.reserved_bytes or 0,
        "max_allocated": stage.levels.max_allocated_bytes,
        "max_cached": stage.levels.max_reserved_bytes or 0,
    }
    line: dict[str, Any] = {
        "step": stage.step,
        "module": stage.module,
        "stage": stage.stage,
        "mem": {name: value / _MB for name, value in levels.items()},
    }
    if start is not None:
        line["time"] = start + stage.seconds
    return line


def write_memory_trace(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write a JSON object per line, for every stage of every module and step."""
    start = recording.info()["start_realtime_ns"] * 1e-9
    for stage in recording.stages(top=0, during=asked.during, device=asked.device):
        out.write(json_text(trace_line(stage, start)).encode() + b"\n")
