"""Converts snapshots of torch.cuda.memory to traces.

A snapshot has a state (segments with their blocks) and, for each device, the last actions before
it, as far as torch kept them. Both imply the memory before the first action; it is allocated at
time 0, before tracing begins. A snapshot without actions is the state of one moment.

Blocks in actions have their requested size. The allocated size is in the state; for blocks that are
gone it follows from their addresses, see `layout`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.imports.before import final_blocks, set_sizes, standing_blocks, standing_segments
from peakline.imports.frames import is_of_inductor
from peakline.imports.layout import Layout, Rules
from peakline.imports.made import Made
from peakline.imports.snapshot import (
    Action,
    Annotation,
    Block,
    DeviceState,
    Snapshot,
    read_snapshot,
)
from peakline.imports.writing import (
    ONE_MOMENT,
    PHASE_BEGIN,
    PHASE_END,
    PLAIN_FREE,
    TICK_NS,
    TRACING_STARTED,
    end_trace,
)

if TYPE_CHECKING:
    from peakline._report import TraceWriter

_AT_ONCE_US = 100  # between the two actions of a free that no other stream delays
_UNTRACED = 1  # format::kUntraced
_REQUESTED, _COMPLETED = 1, 2
_SEGMENT_ACTIONS = {"segment_alloc": 1, "segment_free": 2, "segment_map": 3, "segment_unmap": 4}


@dataclass(frozen=True)
class Imported:
    """Counts of imported items, and of those that the trace cannot have."""

    devices: int
    actions: int
    blocks_before: int  # blocks from before the first action
    unknown_frees: int  # frees of unknown blocks
    has_stacks: bool
    has_compiled: bool  # stacks of code that inductor generated


@dataclass
class _Block:
    size: int
    ordinal: int
    is_waiting: bool = False


@dataclass
class _Device:
    """A device while its actions are written."""

    state: DeviceState
    layout: Layout
    live: dict[int, _Block] = field(default_factory=dict)  # by address
    final: dict[int, Block] = field(default_factory=dict)  # see final_blocks()


def write_trace(found: Any, path: Path) -> Imported:
    """Write an unpickled snapshot as a trace.

    Raises:
        UnreadableError: it is no snapshot.
        peakline._report.TraceError: the file cannot be written; an existing one stays.
    """
    from peakline import _report

    snapshot = read_snapshot(found)
    times = (one.time_us for device in snapshot.devices for one in device.actions)
    start_us = min(filter(None, times), default=0)
    writer = _report.TraceWriter(str(path), start_us * 1000)
    return _Importer(writer, start_us).write(snapshot)


class _Importer:
    def __init__(self, writer: TraceWriter, start_us: int) -> None:
        self._writer = writer
        self._start_us = start_us
        self._contexts: dict[tuple[Made, int], int] = {}
        self._streams: dict[int, int] = {}
        self._unknown_frees = 0
        self._blocks_before = 0
        self._has_stacks = False
        self._has_compiled = False

    def write(self, snapshot: Snapshot) -> Imported:
        rules = Rules(snapshot.settings)
        devices = [
            _Device(state, Layout(rules), final=final_blocks(state)) for state in snapshot.devices
        ]
        action_count = sum(len(one.actions) for one in snapshot.devices)
        self._writer.meta("imported_from", "snapshot of torch.cuda.memory")
        if snapshot.settings:
            self._writer.meta("allocator_settings", snapshot.settings)
        if action_count:
            self._write_begin(devices, _UNTRACED)
            self._writer.mark(0, TRACING_STARTED, 0)
            self._write_actions(devices, snapshot.annotations)
        else:
            self._writer.meta(ONE_MOMENT, "1")
            self._writer.mark(0, TRACING_STARTED, 0)
            self._write_begin(devices, 0)
        self._writer.meta("stacks", "python" if self._has_stacks else "none")
        end_trace(self._writer, 0)  # the end is at the last event
        return Imported(
            len(devices),
            action_count,
            self._blocks_before,
            self._unknown_frees,
            self._has_stacks,
            self._has_compiled,
        )

    # ---- memory from before the first action -------------------------------------------------

    def _write_begin(self, devices: list[_Device], flags: int) -> None:
        """Write segments and blocks that no action allocated; first the segments of all devices."""
        for device in devices:
            for segment in standing_segments(device.state):
                self._segment(0, device, segment)
        for device in devices:
            blocks = standing_blocks(device.state)
            set_sizes(blocks, device.layout)
            self._blocks_before += len(blocks)
            for one in blocks:
                made = Action("alloc", one.address, one.requested, one.stream, 0, one.made)
                self._alloc(0, device, made, one.size, 0 if one.made.stack else flags)
                if one.is_waiting:
                    self._free(0, device, made._replace(kind="free_requested"))

    # ---- actions -----------------------------------------------------------------------------

    def _write_actions(self, devices: list[_Device], annotations: list[Annotation]) -> None:
        start_us = self._start_us
        for time, device, action in _in_order(devices, annotations):
            tick = (time - start_us) * 1000 // TICK_NS if time > start_us else 0
            if device is None:
                assert isinstance(action, Annotation)
                kind = PHASE_BEGIN if action.begins else PHASE_END
                self._writer.mark(tick, kind, self._writer.string(action.name))
            else:
                assert isinstance(action, Action)
                self._write_action(tick, device, action)

    def _write_action(self, tick: int, device: _Device, action: Action) -> None:
        kind = action.kind
        if kind == "alloc":
            size = device.layout.add_block(action.address, action.size)
            final = device.final.get(id(action))
            if final is not None:
                size = final.size
                if not action.made.stack:
                    action = action._replace(made=final.made)
            self._alloc(tick, device, action, size, 0)
        elif kind in ("free", "free_requested", "free_completed"):
            self._free(tick, device, action)
        elif kind in _SEGMENT_ACTIONS:
            self._segment(tick, device, action)
        elif kind == "oom":
            context = self._context(action.made, 0)
            number = device.state.number
            self._writer.oom(tick, context, number, action.size, action.more)

    def _segment(self, tick: int, device: _Device, action: Action) -> None:
        kind, address, size = action.kind, action.address, action.size
        if kind in ("segment_alloc", "segment_map"):
            device.layout.add_segment(address, size, joins=kind == "segment_map")
        else:
            device.layout.remove_segment(address, size)
        number, stream = device.state.number, self._stream(action.stream)
        self._writer.segment(tick, _SEGMENT_ACTIONS[kind], number, stream, address, size)
        if action.more:
            self._writer.in_pool(tick, action.more)

    def _alloc(self, tick: int, device: _Device, action: Action, size: int, flags: int) -> None:
        _, address, requested, stream, _, made, _ = action
        if address in device.live:  # its free is not in the file
            self._free(tick, device, action._replace(kind="free_completed"))
        ordinal = self._writer.alloc(
            tick,
            self._context(made, flags),
            device.state.number,
            self._stream(stream),
            requested,
            size,
            address,
        )
        device.live[address] = _Block(size, ordinal)

    def _free(self, tick: int, device: _Device, action: Action) -> None:
        address = action.address
        block = device.live.get(address)
        if block is None:
            self._unknown_frees += action.kind != "free_completed"
            return
        context = self._context(action.made, 0) if action.made.stack else 0
        if action.kind == "free_requested":
            block.is_waiting = True
            self._writer.free(tick, block.ordinal, block.size, _REQUESTED, context)
            return
        del device.live[address]
        device.layout.remove_block(address, block.size)
        how = _COMPLETED if block.is_waiting else PLAIN_FREE
        self._writer.free(tick, block.ordinal, block.size, how, context)

    # ---- definitions -------------------------------------------------------------------------

    def _stream(self, handle: int) -> int:
        found = self._streams.get(handle)
        if found is None:
            found = self._streams[handle] = self._writer.stream(handle)
        return found

    def _context(self, made: Made, flags: int) -> int:
        found = self._contexts.get((made, flags))
        if found is None:
            self._has_stacks |= bool(made.stack)
            self._has_compiled |= is_of_inductor(made.stack)
            node = 0
            for file, line, name in reversed(made.stack):
                node = self._writer.node(node, file, line, name)
            tag = self._writer.string(made.tag) if made.tag else 0
            found = self._contexts[made, flags] = self._writer.context(node, flags, tag)
        return found


def _in_order(
    devices: list[_Device], annotations: list[Annotation]
) -> Iterator[tuple[int, _Device | None, Action | Annotation]]:
    """Yield the actions of all devices, and annotations, by time."""

    def of(device: _Device) -> Iterator[tuple[int, _Device | None, Action | Annotation]]:
        last = 0
        for action in _with_plain_frees(device.state.actions):
            if action.time_us > last:
                last = action.time_us
            yield last, device, action

    sources = [of(device) for device in devices if device.state.actions]
    if annotations:
        in_order = sorted(annotations, key=lambda one: one.time_us)
        sources.insert(0, ((one.time_us, None, one) for one in in_order))
    # At equal times the first source comes first.
    yield from sources[0] if len(sources) == 1 else heapq.merge(*sources, key=lambda one: one[0])


def _with_plain_frees(actions: list[Action]) -> Iterator[Action]:
    """Yield the actions; joins the two actions of a free that completes at once.

    If the program told torch to omit completions (skip_actions), every free counts as completed.
    """
    completes = any(one.kind == "free_completed" for one in actions)
    waiting: Action | None = None  # a requested free
    for action in actions:
        kind = action.kind
        if waiting is not None:
            is_same = (
                kind == "free_completed"
                and action.address == waiting.address
                and action.time_us - waiting.time_us <= _AT_ONCE_US
            )
            yield Action("free", *waiting[1:]) if is_same or not completes else waiting
            waiting = None
            if is_same:
                continue
        if kind == "free_requested":
            waiting = action
        else:
            yield action
    if waiting is not None:
        yield waiting if completes else Action("free", *waiting[1:])
