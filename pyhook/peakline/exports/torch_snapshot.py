"""Writes the format of torch.cuda.memory._dump_snapshot(), for memory_viz and _memory_viz.py.

Source of the format: the docstring of torch.cuda.memory._snapshot. Segments and blocks are those
after the last event. The traces hold every event, so that a reader can step back from there.
"""

from __future__ import annotations

import bisect
import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from peakline.base.ordered import Ranges

if TYPE_CHECKING:
    from peakline.exports.asked import Asked
    from peakline.recording import Event, Events, Recording

_PROTOCOL = 4
_SMALL_SEGMENT = 2 << 20  # torch's kSmallBuffer
_ACTIONS = {
    "alloc": ("alloc",),
    "free": ("free_requested", "free_completed"),
    "free_requested": ("free_requested",),
    "free_completed": ("free_completed",),
    "segment_alloc": ("segment_alloc",),
    "segment_free": ("segment_free",),
    "segment_map": ("segment_map",),
    "segment_unmap": ("segment_unmap",),
    "oom": ("oom",),
}


def write(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write the snapshot of every device, or of the requested one."""
    events = recording.events(**asked.of_part())
    snapshot = _Snapshot(events)
    for event in events:
        snapshot.add(event)
    settings = recording.info()["meta"].get("allocator_settings", "")
    pickle.dump(
        {
            "segments": snapshot.segments(),
            "device_traces": snapshot.traces,
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": settings},
            "external_annotations": [],
        },
        out,
        protocol=_PROTOCOL,
    )


_Kind: TypeAlias = "tuple[int, bool]"  # stream, whether the segment is expandable


@dataclass
class _Segment:
    device: int
    address: int
    size: int
    stream: int
    is_expandable: bool


@dataclass
class _Snapshot:
    events: Events
    traces: list[list[dict[str, Any]]] = field(default_factory=list)  # by device
    live: dict[tuple[int, int], tuple[Event, str]] = field(default_factory=dict)
    known: dict[int, Ranges[_Kind]] = field(default_factory=dict)  # by device
    stacks: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Take the next event."""
        if not isinstance(event.device, int):  # the format has only GPUs
            return
        while len(self.traces) <= event.device:
            self.traces.append([])
        for action in _ACTIONS.get(event.kind, ()):
            self.traces[event.device].append(self._entry(event, action))
        key = (event.device, event.address or 0)
        if event.kind == "alloc":
            self.live[key] = (event, "active_allocated")
        elif event.kind == "free_requested":
            if key in self.live:
                self.live[key] = (self.live[key][0], "active_awaiting_free")
        elif event.kind in ("free", "free_completed"):
            self.live.pop(key, None)
        elif event.kind.startswith("segment_"):
            self._follow_segment(event, self.known.setdefault(event.device, Ranges()))

    def _entry(self, event: Event, action: str) -> dict[str, Any]:
        stack = event.stack_id if action == "alloc" else event.free_stack_id
        entry: dict[str, Any] = {
            "action": action,
            # torch writes the requested size of blocks.
            "size": event.requested_bytes or event.bytes or 0,
            "stream": event.stream or 0,
            "time_us": round(event.time * 1e6),
            "compile_context": "N/A",
            "user_metadata": event.category or "",
            "frames": [] if stack is None else self.frames(stack),
        }
        if action == "oom":
            entry["device_free"] = 0
        else:
            entry["addr"] = event.address or 0
        return entry

    def frames(self, stack: int) -> list[dict[str, Any]]:
        """Return a stack in torch's form, the innermost frame first."""
        if stack not in self.stacks:
            self.stacks[stack] = [
                {"filename": one.file, "line": one.line, "name": one.function}
                for one in self.events.stack(stack)
            ]
        return self.stacks[stack]

    def _follow_segment(self, event: Event, known: Ranges[_Kind]) -> None:
        begin = event.address or 0
        end = begin + (event.bytes or 0)
        if event.kind in ("segment_alloc", "segment_map"):
            known.put(begin, end, (event.stream or 0, event.kind == "segment_map"))
        elif event.kind == "segment_free":
            known.pop(begin)
        else:
            known.take_out(begin, end)

    def segments(self) -> list[dict[str, Any]]:
        """Return the segments after the last event, with their blocks and holes."""
        merged: list[_Segment] = []
        for device in sorted(self.known):
            for begin, end, (stream, is_expandable) in self.known[device]:
                last = merged[-1] if merged else None
                joins = last is not None and (
                    (last.device, last.stream, last.address + last.size) == (device, stream, begin)
                )
                if last is not None and joins and last.is_expandable and is_expandable:
                    last.size += end - begin
                else:
                    merged.append(_Segment(device, begin, end - begin, stream, is_expandable))
        blocks = sorted(self.live)
        return [self._segment(one, blocks) for one in merged]

    def _segment(self, segment: _Segment, keys: list[tuple[int, int]]) -> dict[str, Any]:
        end = segment.address + segment.size
        first = bisect.bisect_left(keys, (segment.device, segment.address))
        last = bisect.bisect_left(keys, (segment.device, end))
        blocks: list[dict[str, Any]] = []
        at = segment.address
        for key in keys[first:last]:
            event, state = self.live[key]
            if key[1] > at:
                blocks.append(_hole(at, key[1] - at))
            blocks.append(
                {
                    "address": key[1],
                    "size": event.bytes or 0,
                    "requested_size": event.requested_bytes or 0,
                    "state": state,
                    "frames": self.frames(event.stack_id or 0),
                }
            )
            at = key[1] + (event.bytes or 0)
        if at < end:
            blocks.append(_hole(at, end - at))
        return {
            "device": segment.device,
            "address": segment.address,
            "total_size": segment.size,
            "stream": segment.stream,
            "segment_type": "small" if segment.size <= _SMALL_SEGMENT else "large",
            "segment_pool_id": (0, 0),
            "is_expandable": segment.is_expandable,
            "allocated_size": _sum(blocks, "active_allocated"),
            "active_size": _sum(blocks, "active_allocated", "active_awaiting_free"),
            "requested_size": sum(one["requested_size"] for one in blocks),
            "frames": [],
            "blocks": blocks,
        }


def _hole(address: int, size: int) -> dict[str, Any]:
    return {
        "address": address,
        "size": size,
        "requested_size": 0,
        "state": "inactive",
        "frames": [],
    }


def _sum(blocks: list[dict[str, Any]], *states: str) -> int:
    total: int = sum(one["size"] for one in blocks if one["state"] in states)
    return total
