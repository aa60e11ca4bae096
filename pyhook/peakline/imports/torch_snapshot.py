"""Snapshots of torch.cuda.memory as traces.

Source of the format: the docstring of torch.cuda.memory._snapshot. A snapshot has a state, segments
with their blocks, and for each device the last actions before it, as far as torch kept them. What
was there before the first action follows from both; it is made at time 0, before tracing begins.

Blocks of actions have the size that was asked for; what torch gave follows from where they lie, see
`layout`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.imports.layout import Layout, rounded
from peakline.imports.writing import (
    PHASE_BEGIN,
    PHASE_END,
    PLAIN_FREE,
    TICK_NS,
    TRACING_STARTED,
    UnreadableError,
    end_trace,
    plain_text,
)

if TYPE_CHECKING:
    from peakline._report import TraceWriter

_AT_ONCE_US = 100  # between the two actions of a free that no other stream delays
_UNTRACED = 1  # format::kUntraced
_REQUESTED, _COMPLETED = 1, 2
_SEGMENT_ACTIONS = {"segment_alloc": 1, "segment_free": 2, "segment_map": 3, "segment_unmap": 4}


@dataclass(frozen=True)
class Imported:
    """What was read, and what of it the trace cannot have."""

    devices: int
    actions: int
    blocks_before: int  # that were there before the first action
    unknown_frees: int  # of blocks that nothing is known of
    has_stacks: bool


@dataclass
class _Block:
    size: int
    requested: int
    frames: list[dict[str, Any]]
    stream: int = 0
    ordinal: int = 0
    is_waiting: bool = False


@dataclass
class _Device:
    """The state of a device, and its actions."""

    number: int
    actions: list[dict[str, Any]]
    segments: dict[int, dict[str, Any]] = field(default_factory=dict)  # of the state, by address
    blocks: dict[int, _Block] = field(default_factory=dict)  # of the state, by address
    live: dict[int, _Block] = field(default_factory=dict)  # now, by address
    layout: Layout = field(default_factory=Layout)  # now


def write_trace(snapshot: Any, path: Path) -> Imported:
    """Write a snapshot, as it was unpickled, as a trace.

    Raises:
        UnreadableError: it is no snapshot.
        peakline._report.TraceError: the file cannot be written; one that exists stays.
    """
    from peakline import _report

    devices = _devices_of(snapshot)
    times = [_time_of(one) for device in devices for one in device.actions]
    start_us = min((time for time in times if time), default=0)
    writer = _report.TraceWriter(str(path), start_us * 1000)
    try:
        return _Importer(writer, start_us).write(snapshot, devices)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UnreadableError(
            f"an action of the snapshot is not one of torch's: {error!r}"
        ) from error


def _devices_of(snapshot: Any) -> list[_Device]:
    if not isinstance(snapshot, dict) or not isinstance(snapshot.get("segments"), list):
        raise UnreadableError(
            "no snapshot of torch: it has no 'segments'; give what"
            " torch.cuda.memory._dump_snapshot() wrote"
        )
    traces = snapshot.get("device_traces") or []
    numbers = {int(one.get("device", 0)) for one in snapshot["segments"]} | set(range(len(traces)))
    devices = {
        number: _Device(number, traces[number] if number < len(traces) else [])
        for number in sorted(numbers)
    }
    try:
        for segment in snapshot["segments"]:
            _add_segment(devices[int(segment.get("device", 0))], segment)
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableError(
            f"a segment of the snapshot is not one of torch's: {error!r}"
        ) from error
    return list(devices.values())


def _add_segment(device: _Device, segment: dict[str, Any]) -> None:
    device.segments[segment["address"]] = segment
    at = segment["address"]
    for block in segment["blocks"]:
        address = block.get("address", at)  # older snapshots: blocks in order, without gaps
        at = address + block["size"]
        if block["state"] == "inactive":
            continue
        # Before torch 2.3 the stack lies in the block's history.
        history = block.get("history") or [{}]
        frames = block.get("frames") or history[0].get("frames") or []
        requested = block.get("requested_size") or history[0].get("real_size") or block["size"]
        device.blocks[address] = _Block(
            block["size"],
            requested,
            frames,
            segment.get("stream", 0),
            is_waiting=block["state"] != "active_allocated",
        )


def _time_of(action: dict[str, Any]) -> int:
    return int(action.get("time_us", 0) or 0)


class _Importer:
    def __init__(self, writer: TraceWriter, start_us: int) -> None:
        self._writer = writer
        self._start_us = start_us
        self._nodes: dict[tuple[tuple[str, int, str], ...], int] = {}
        self._unknown_frees = 0
        self._blocks_before = 0
        self._has_stacks = False

    def write(self, snapshot: dict[str, Any], devices: list[_Device]) -> Imported:
        settings = snapshot.get("allocator_settings") or {}
        self._writer.meta("imported_from", "snapshot of torch.cuda.memory")
        if conf := settings.get("PYTORCH_CUDA_ALLOC_CONF"):
            self._writer.meta("allocator_settings", str(conf))
        for device in devices:
            self._write_begin(device)
        self._writer.mark(0, TRACING_STARTED, 0)
        for time, of, action in _in_order(devices, snapshot.get("external_annotations") or []):
            tick = max(0, time - self._start_us) * 1000 // TICK_NS
            if of is None:
                self._write_annotation(tick, action)
            else:
                self._write_action(tick, of, action)
        self._writer.meta("stacks", "python" if self._has_stacks else "none")
        end_trace(self._writer, 0)  # the end lies where the last event does
        return Imported(
            len(devices),
            sum(len(one.actions) for one in devices),
            self._blocks_before,
            self._unknown_frees,
            self._has_stacks,
        )

    # ---- what was there before the first action ----------------------------------------------

    def _write_begin(self, device: _Device) -> None:
        """Write segments and blocks that no action has made."""
        for address, size, stream, is_mapped in _segments_before(device):
            kind = "segment_map" if is_mapped else "segment_alloc"
            self._segment(0, device, kind, address, size, stream)
        for address, block in _blocks_before(device).items():
            self._blocks_before += 1
            device.layout.add_block(address, block.requested)
            self._alloc(0, device, address, block)

    # ---- actions -----------------------------------------------------------------------------

    def _write_action(self, tick: int, device: _Device, action: dict[str, Any]) -> None:
        kind = action["action"]
        address = int(action.get("addr", 0))
        size = int(action.get("size", 0))
        if kind == "alloc":
            given = device.layout.add_block(address, size)
            frames = action.get("frames") or []
            self._alloc(tick, device, address, _Block(given, size, frames, action.get("stream", 0)))
        elif kind in ("free_requested", "free_completed", "free"):
            self._free(tick, device, address, kind, action.get("frames") or [])
        elif kind in _SEGMENT_ACTIONS:
            self._segment(tick, device, kind, address, size, action.get("stream", 0))
        elif kind == "oom":
            free_bytes = int(action.get("device_free", 0))
            context = self._context(action.get("frames") or [], 0)
            self._writer.oom(tick, context, device.number, size, free_bytes)

    def _segment(
        self, tick: int, device: _Device, kind: str, address: int, size: int, stream: int
    ) -> None:
        if kind in ("segment_alloc", "segment_map"):
            device.layout.add_segment(address, size, joins=kind == "segment_map")
        else:
            device.layout.remove_segment(address, size)
        action = _SEGMENT_ACTIONS[kind]
        self._writer.segment(
            tick, action, device.number, self._writer.stream(stream), address, size
        )

    def _alloc(self, tick: int, device: _Device, address: int, block: _Block) -> None:
        flags = 0 if block.frames or tick else _UNTRACED
        block.ordinal = self._writer.alloc(
            tick,
            self._context(block.frames, flags),
            device.number,
            self._writer.stream(block.stream),
            block.requested,
            block.size,
            address,
        )
        block.is_waiting = False
        device.live[address] = block

    def _free(
        self, tick: int, device: _Device, address: int, kind: str, frames: list[dict[str, Any]]
    ) -> None:
        block = device.live.get(address)
        if block is None:
            self._unknown_frees += kind != "free_completed"
            return
        context = self._context(frames, 0) if frames else 0
        if kind == "free_requested":
            block.is_waiting = True
            self._writer.free(tick, block.ordinal, block.size, _REQUESTED, context)
            return
        del device.live[address]
        device.layout.remove_block(address)
        how = _COMPLETED if block.is_waiting else PLAIN_FREE
        self._writer.free(tick, block.ordinal, block.size, how, context)

    def _write_annotation(self, tick: int, annotation: dict[str, Any]) -> None:
        kind = PHASE_BEGIN if annotation.get("stage") == "START" else PHASE_END
        name = self._writer.string(plain_text(annotation.get("name", "")))
        self._writer.mark(tick, kind, name)

    # ---- stacks ------------------------------------------------------------------------------

    def _context(self, frames: list[dict[str, Any]], flags: int) -> int:
        # Frames of C++ have no file that is a Python one; with Python frames they are left out.
        python = [one for one in frames if str(one.get("filename", "")).endswith(".py")]
        stack = tuple(
            (
                plain_text(one.get("filename", "")),
                max(0, int(one.get("line", 0))),
                plain_text(one.get("name", "")),
            )
            for one in python or frames
        )
        self._has_stacks |= bool(stack)
        node = self._nodes.get(stack)
        if node is None:
            node = 0
            for file, line, name in reversed(stack):
                node = self._writer.node(node, file, line & 0xFFFFFFFF, name)
            self._nodes[stack] = node
        return self._writer.context(node, flags)


def _in_order(
    devices: list[_Device], annotations: list[dict[str, Any]]
) -> Iterator[tuple[int, _Device | None, dict[str, Any]]]:
    """Yield the actions of all devices, and annotations, by their times."""

    def of(device: _Device) -> Iterator[tuple[int, int, _Device | None, dict[str, Any]]]:
        last = 0
        for action in _with_plain_frees(device.actions):
            last = max(last, _time_of(action))
            yield last, device.number + 1, device, action

    marks = sorted(((_time_of(one), 0, None, one) for one in annotations), key=lambda one: one[0])
    streams: list[Any] = [iter(marks), *map(of, devices)]
    for time, _, device, action in heapq.merge(*streams, key=lambda one: one[:2]):
        yield time, device, action


def _with_plain_frees(actions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the actions; a free that is completed at once, which torch writes as two, is one."""
    waiting: dict[str, Any] | None = None  # a free that was requested
    for action in actions:
        if waiting is not None:
            is_same = (
                action["action"] == "free_completed"
                and action["addr"] == waiting["addr"]
                and _time_of(action) - _time_of(waiting) <= _AT_ONCE_US
            )
            yield {**waiting, "action": "free"} if is_same else waiting
            waiting = None
            if is_same:
                continue
        if action["action"] == "free_requested":
            waiting = action
        else:
            yield action
    if waiting is not None:
        yield waiting


def _blocks_before(device: _Device) -> dict[int, _Block]:
    """Return blocks that are freed or live, and that no action made before."""
    before: dict[int, _Block] = {}
    made: set[int] = set()
    gone: set[int] = set()
    for action in device.actions:
        address = int(action.get("addr", 0))
        if action["action"] == "alloc":
            made.add(address)
        elif action["action"].startswith("free") and address not in made and address not in gone:
            gone.add(address)
            size = int(action.get("size", 0))
            before[address] = _Block(rounded(size), size, [], action.get("stream", 0))
    seen = made | gone
    return before | {at: one for at, one in device.blocks.items() if at not in seen}


def _segments_before(device: _Device) -> Iterator[tuple[int, int, int, bool]]:
    """Yield address, bytes, stream and whether it is mapped, of what no action obtained.

    The actions are taken back from the state, the last one first.
    """
    ranges = {
        address: (one["total_size"], one.get("stream", 0), bool(one.get("is_expandable", False)))
        for address, one in device.segments.items()
    }
    for action in reversed(device.actions):
        address, size = int(action.get("addr", 0)), int(action.get("size", 0))
        kind = action["action"]
        if kind == "segment_alloc":
            ranges.pop(address, None)
        elif kind in ("segment_free", "segment_unmap"):
            ranges[address] = (size, action.get("stream", 0), kind == "segment_unmap")
        elif kind == "segment_map":
            _take_out(ranges, address, size)
    for address, (size, stream, is_mapped) in sorted(ranges.items()):
        yield address, size, stream, is_mapped


def _take_out(ranges: dict[int, tuple[int, int, bool]], begin: int, size: int) -> None:
    """Take mapped bytes out of the ranges that have them."""
    end = begin + size
    for address, (bytes_of, stream, is_mapped) in list(ranges.items()):
        last = address + bytes_of
        if not is_mapped or address >= end or last <= begin:
            continue
        del ranges[address]
        if address < begin:
            ranges[address] = (begin - address, stream, True)
        if end < last:
            ranges[end] = (last - end, stream, True)
