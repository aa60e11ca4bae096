"""A trace of Perfetto: levels as counters, phases and large blocks as slices.

Source of the format and of the field numbers: protos/perfetto/trace/perfetto_trace.proto. Slices of
one track must nest, but lifetimes of blocks do not: a block goes to the first free lane. A flow
leads from the allocating thread to the block, and from there to its free.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from peakline.base.device_names import name_of_device
from peakline.exports.protobuf import data, fixed64, number

if TYPE_CHECKING:
    from peakline.exports.asked import Asked
    from peakline.recording import Event, Recording

_LEAST_BYTES = 1 << 20  # smallest block that is a slice, without --min
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_SIZE_BYTES = 3  # CounterDescriptor.Unit
_SEQUENCE = 1
_PROCESS = 1  # uuid of the process track


def write(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write levels of every event, phases, marks, and blocks of `min_bytes` and more."""
    info = recording.info()
    writer = _Writer(out, info["pid"], info["meta"].get("argv", recording.path.name))
    lanes = _Lanes(writer, asked.min_bytes or _LEAST_BYTES)
    for phase in recording.phases():
        if asked.during is None and phase.name != "":
            writer.phase(phase.thread, phase.name, phase.begin_seconds, phase.end_seconds)
    for event in recording.events(**asked.of_part()):
        writer.levels(event)
        if event.kind == "alloc":
            lanes.begin(event)
        elif event.kind in ("free", "free_completed"):
            lanes.end(event)
        elif event.text and event.kind in ("note", "step"):
            writer.instant(event, event.text)
        elif event.kind == "oom":
            writer.instant(event, f"out of memory: {event.bytes} bytes")
    lanes.end_all()


class _Writer:
    """Writes packets; describes a track when it is first used."""

    def __init__(self, out: BinaryIO, pid: int, command: str) -> None:
        self._out = out
        self._pid = pid
        self._tracks: dict[tuple[str, object], int] = {}
        self._levels: dict[tuple[int | str, str], int | None] = {}
        process = data(3, number(1, pid) + data(6, command))
        self._packet(data(60, number(1, _PROCESS) + process))

    def _packet(self, body: bytes, seconds: float | None = None) -> None:
        when = b"" if seconds is None else number(8, round(seconds * 1e9))
        packet = when + number(10, _SEQUENCE) + body
        self._out.write(data(1, packet))

    def _track(self, kind: str, key: object, description: bytes) -> int:
        if (kind, key) not in self._tracks:
            uuid = len(self._tracks) + _PROCESS + 1
            self._tracks[kind, key] = uuid
            self._packet(data(60, number(1, uuid) + number(5, _PROCESS) + description))
        return self._tracks[kind, key]

    def thread(self, kernel_id: int) -> int:
        description = data(4, number(1, self._pid) + number(2, kernel_id))
        return self._track("thread", kernel_id, description)

    def named(self, name: str) -> int:
        return self._track("named", name, data(2, name))

    def event(
        self, kind: int, track: int, seconds: float, name: str = "", more: bytes = b""
    ) -> None:
        body = number(9, kind) + number(11, track) + (data(23, name) if name else b"") + more
        self._packet(data(11, body), seconds)

    def levels(self, event: Event) -> None:
        """Write the levels that have changed."""
        if event.device is None:
            return
        for name, value in (
            ("allocated", event.allocated_bytes),
            ("reserved", event.reserved_bytes),
        ):
            if value is None or self._levels.get((event.device, name)) == value:
                continue
            self._levels[event.device, name] = value
            label = f"{name}, {name_of_device(event.device)}"
            description = data(2, label) + data(8, number(3, _SIZE_BYTES))
            track = self._track("counter", label, description)
            self.event(_COUNTER, track, event.seconds, more=number(30, value))

    def phase(self, thread: int, name: str, begin: float, end: float) -> None:
        track = self.thread(thread)
        self.event(_BEGIN, track, begin, name)
        self.event(_END, track, end)

    def instant(self, event: Event, name: str) -> None:
        track = self.thread(event.thread) if event.thread else self.named("marks")
        self.event(_INSTANT, track, event.seconds, name)


@dataclass
class _Lanes:
    """The tracks of blocks of each device, and the free ones among them."""

    writer: _Writer
    least_bytes: int
    free: dict[int | str, list[int]] = field(default_factory=dict)  # heaps, by device
    count: dict[int | str, int] = field(default_factory=dict)
    live: dict[int, tuple[int | str, int, int]] = field(default_factory=dict)  # device, lane, track
    last_seconds: float = 0.0

    def begin(self, event: Event) -> None:
        self.last_seconds = event.seconds
        if event.block is None or event.device is None or (event.bytes or 0) < self.least_bytes:
            return
        free = self.free.setdefault(event.device, [])
        if free:
            lane = heapq.heappop(free)
        else:
            lane = self.count[event.device] = self.count.get(event.device, 0) + 1
        track = self.writer.named(f"blocks of {name_of_device(event.device)}, lane {lane}")
        self.live[event.block] = (event.device, lane, track)
        flow = fixed64(47, event.block + 1)
        if event.thread:
            self.writer.event(
                _INSTANT, self.writer.thread(event.thread), event.seconds, "alloc", flow
            )
        self.writer.event(_BEGIN, track, event.seconds, _name_of(event), flow + _notes_of(event))

    def end(self, event: Event) -> None:
        self.last_seconds = event.seconds
        if event.block in self.live:
            device, lane, track = self.live.pop(event.block)
            self.writer.event(_END, track, event.seconds)
            heapq.heappush(self.free[device], lane)

    def end_all(self) -> None:
        """End the blocks that are live after the last event."""
        for _, _, track in self.live.values():
            self.writer.event(_END, track, self.last_seconds)


def _name_of(event: Event) -> str:
    what = event.category if event.category not in (None, "unknown") else event.op
    return f"{what} {event.line}"


def _notes_of(event: Event) -> bytes:
    """Return debug annotations, which Perfetto shows on a click."""
    numbers = {"bytes": event.bytes, "requested_bytes": event.requested_bytes}
    texts = {
        "line": event.line,
        "operator": event.op,
        "module": event.module,
        "category": event.category,
        "lifetime": event.lifetime,
    }
    notes = b"".join(
        data(4, data(10, name) + number(3, value))
        for name, value in numbers.items()
        if value is not None
    )
    return notes + b"".join(
        data(4, data(10, name) + data(6, text)) for name, text in texts.items() if text
    )
