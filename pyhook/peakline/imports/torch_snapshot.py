"""Snapshots of torch.cuda.memory as traces.

A snapshot has a state, segments with their blocks, and for each device the last actions before it,
as far as torch kept them. What was there before the first action follows from both; it is made at
time 0, before tracing begins.

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
from peakline.imports.snapshot import (
    Action,
    Annotation,
    DeviceState,
    Snapshot,
    Stack,
    read_snapshot,
)
from peakline.imports.writing import (
    PHASE_BEGIN,
    PHASE_END,
    PLAIN_FREE,
    TICK_NS,
    TRACING_STARTED,
    end_trace,
)
from peakline.ordered import Ranges

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
    stack: Stack
    stream: int = 0
    ordinal: int = 0
    is_waiting: bool = False


@dataclass
class _Device:
    """A device while its actions are written."""

    state: DeviceState
    live: dict[int, _Block] = field(default_factory=dict)  # by address
    layout: Layout = field(default_factory=Layout)


def write_trace(found: Any, path: Path) -> Imported:
    """Write a snapshot, as it was unpickled, as a trace.

    Raises:
        UnreadableError: it is no snapshot.
        peakline._report.TraceError: the file cannot be written; one that exists stays.
    """
    from peakline import _report

    snapshot = read_snapshot(found)
    times = [one.time_us for device in snapshot.devices for one in device.actions]
    start_us = min(filter(None, times), default=0)
    writer = _report.TraceWriter(str(path), start_us * 1000)
    return _Importer(writer, start_us).write(snapshot)


class _Importer:
    def __init__(self, writer: TraceWriter, start_us: int) -> None:
        self._writer = writer
        self._start_us = start_us
        self._nodes: dict[int, int] = {}  # by the identity of a stack: equal ones are the same
        self._unknown_frees = 0
        self._blocks_before = 0
        self._has_stacks = False

    def write(self, snapshot: Snapshot) -> Imported:
        devices = [_Device(state) for state in snapshot.devices]
        self._writer.meta("imported_from", "snapshot of torch.cuda.memory")
        if snapshot.settings:
            self._writer.meta("allocator_settings", snapshot.settings)
        for device in devices:
            self._write_begin(device)
        self._writer.mark(0, TRACING_STARTED, 0)
        for time, of, action in _in_order(devices, snapshot.annotations):
            tick = max(0, time - self._start_us) * 1000 // TICK_NS
            if isinstance(action, Annotation):
                kind = PHASE_BEGIN if action.begins else PHASE_END
                self._writer.mark(tick, kind, self._writer.string(action.name))
            elif of is not None:
                self._write_action(tick, of, action)
        self._writer.meta("stacks", "python" if self._has_stacks else "none")
        end_trace(self._writer, 0)  # the end lies where the last event does
        return Imported(
            len(devices),
            sum(len(one.actions) for one in snapshot.devices),
            self._blocks_before,
            self._unknown_frees,
            self._has_stacks,
        )

    # ---- what was there before the first action ----------------------------------------------

    def _write_begin(self, device: _Device) -> None:
        """Write segments and blocks that no action has made."""
        for address, size, stream, is_mapped in _segments_before(device.state):
            kind = "segment_map" if is_mapped else "segment_alloc"
            self._segment(0, device, Action(kind, address, size, stream, 0, (), 0))
        for address, block in _blocks_before(device.state).items():
            self._blocks_before += 1
            device.layout.add_block(address, block.requested)
            self._alloc(0, device, address, block)

    # ---- actions -----------------------------------------------------------------------------

    def _write_action(self, tick: int, device: _Device, action: Action) -> None:
        kind = action.kind
        if kind == "alloc":
            given = device.layout.add_block(action.address, action.size)
            block = _Block(given, action.size, action.stack, action.stream)
            self._alloc(tick, device, action.address, block)
        elif kind in ("free_requested", "free_completed", "free"):
            self._free(tick, device, action)
        elif kind in _SEGMENT_ACTIONS:
            self._segment(tick, device, action)
        elif kind == "oom":
            context = self._context(action.stack, 0)
            number = device.state.number
            self._writer.oom(tick, context, number, action.size, action.free_bytes)

    def _segment(self, tick: int, device: _Device, action: Action) -> None:
        if action.kind in ("segment_alloc", "segment_map"):
            joins = action.kind == "segment_map"
            device.layout.add_segment(action.address, action.size, joins=joins)
        else:
            device.layout.remove_segment(action.address, action.size)
        self._writer.segment(
            tick,
            _SEGMENT_ACTIONS[action.kind],
            device.state.number,
            self._writer.stream(action.stream),
            action.address,
            action.size,
        )

    def _alloc(self, tick: int, device: _Device, address: int, block: _Block) -> None:
        flags = 0 if block.stack or tick else _UNTRACED
        block.ordinal = self._writer.alloc(
            tick,
            self._context(block.stack, flags),
            device.state.number,
            self._writer.stream(block.stream),
            block.requested,
            block.size,
            address,
        )
        block.is_waiting = False
        device.live[address] = block

    def _free(self, tick: int, device: _Device, action: Action) -> None:
        block = device.live.get(action.address)
        if block is None:
            self._unknown_frees += action.kind != "free_completed"
            return
        context = self._context(action.stack, 0) if action.stack else 0
        if action.kind == "free_requested":
            block.is_waiting = True
            self._writer.free(tick, block.ordinal, block.size, _REQUESTED, context)
            return
        del device.live[action.address]
        device.layout.remove_block(action.address)
        how = _COMPLETED if block.is_waiting else PLAIN_FREE
        self._writer.free(tick, block.ordinal, block.size, how, context)

    # ---- stacks ------------------------------------------------------------------------------

    def _context(self, frames: Stack, flags: int) -> int:
        self._has_stacks |= bool(frames)
        node = self._nodes.get(id(frames))
        if node is None:
            # Frames of C++ have no file that is a Python one; with Python frames they are left out.
            python = [one for one in frames if one[0].endswith(".py")]
            node = 0
            for file, line, name in reversed(python or frames):
                node = self._writer.node(node, file, line, name)
            self._nodes[id(frames)] = node
        return self._writer.context(node, flags)


def _in_order(
    devices: list[_Device], annotations: list[Annotation]
) -> Iterator[tuple[int, _Device | None, Action | Annotation]]:
    """Yield the actions of all devices, and annotations, by their times."""

    def of(device: _Device) -> Iterator[tuple[int, int, _Device | None, Action | Annotation]]:
        last = 0
        for action in _with_plain_frees(device.state.actions):
            last = max(last, action.time_us)
            yield last, device.state.number + 1, device, action

    marks = (
        (one.time_us, 0, None, one) for one in sorted(annotations, key=lambda one: one.time_us)
    )
    for time, _, device, action in heapq.merge(marks, *map(of, devices), key=lambda one: one[:2]):
        yield time, device, action


def _with_plain_frees(actions: list[Action]) -> Iterator[Action]:
    """Yield the actions; a free that is completed at once, which torch writes as two, is one."""
    waiting: Action | None = None  # a free that was requested
    for action in actions:
        if waiting is not None:
            is_same = (
                action.kind == "free_completed"
                and action.address == waiting.address
                and action.time_us - waiting.time_us <= _AT_ONCE_US
            )
            yield waiting._replace(kind="free") if is_same else waiting
            waiting = None
            if is_same:
                continue
        if action.kind == "free_requested":
            waiting = action
        else:
            yield action
    if waiting is not None:
        yield waiting


def _blocks_before(device: DeviceState) -> dict[int, _Block]:
    """Return blocks that are freed or live, and that no action made before."""
    before: dict[int, _Block] = {}
    seen: set[int] = set()
    for action in device.actions:
        address = action.address
        if action.kind == "alloc":
            seen.add(address)
        elif action.kind.startswith("free") and address not in seen:
            seen.add(address)
            before[address] = _Block(rounded(action.size), action.size, (), action.stream)
    for segment in device.segments:
        for one in segment.blocks:
            if one.address not in seen:
                before[one.address] = _Block(one.size, one.requested, one.stack, segment.stream)
    return before


def _segments_before(device: DeviceState) -> list[tuple[int, int, int, bool]]:
    """Return address, bytes, stream and whether it is mapped, of what no action obtained.

    The actions are taken back from the state, the last one first.
    """
    whole: dict[int, tuple[int, int]] = {}  # end and stream, by address
    mapped: Ranges[int] = Ranges()  # with their streams
    for one in device.segments:
        end = one.address + one.size
        if one.is_expandable:
            mapped.put(one.address, end, one.stream)
        else:
            whole[one.address] = (end, one.stream)
    for action in reversed(device.actions):
        begin, end = action.address, action.address + action.size
        if action.kind == "segment_alloc":
            whole.pop(begin, None)
        elif action.kind == "segment_free":
            whole[begin] = (end, action.stream)
        elif action.kind == "segment_map":
            mapped.take_out(begin, end)
        elif action.kind == "segment_unmap":
            mapped.put(begin, end, action.stream)
    found = [(begin, end - begin, stream, False) for begin, (end, stream) in whole.items()]
    found += [(begin, end - begin, stream, True) for begin, end, stream in mapped]
    return sorted(found)
