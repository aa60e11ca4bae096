"""Some events of a trace: as objects one by one, or as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from peakline.recording.rows import Location

# The value of a column without a value: see report/views/events/events.h.
_NO_NUMBER = 2**64 - 1
_NO_ID = 2**32 - 1

# The type codes of the engine's columns, as in the module `array`.
_CODES = {
    "event": "Q",
    "seconds": "d",
    "kind": "B",
    "block": "Q",
    "bytes": "Q",
    "requested_bytes": "Q",
    "address": "Q",
    "device": "I",
    "stream": "I",
    "allocated_bytes": "Q",
    "reserved_bytes": "Q",
    "context": "I",
    "free_node": "I",
    "phase": "B",
    "step": "I",
    "thread": "I",
    "text": "I",
    "tensor_type": "I",
}


class Event(NamedTuple):
    """One event. None: the event has no such value, or the trace does not know it.

    Attributes:
        event: its number in the trace, from 0.
        seconds: since the start of the trace.
        time: seconds since 1970, UTC.
        kind: ``alloc``, ``free``; ``free_requested`` and ``free_completed`` of a block that another
            stream used when it was freed; ``segment_alloc``, ``segment_free``, ``segment_map``,
            ``segment_unmap`` of torch's allocator; ``oom``; ``phase_begin``, ``phase_end``,
            ``step``, ``note``, ``tracing_started``, ``tracing_stopped``, ``main_end``.
        block: number of the block: a ``free`` has that of its ``alloc``.
        bytes: of the block, the segment, or the refused request.
        requested_bytes: of a block: the bytes that the program requested.
        address: of the block or the segment.
        device: the number of a GPU; of the host ``"pinned"`` or ``"cpu"`` (in columns 64, 65).
        stream: the handle of the CUDA stream; 0 is the default one.
        allocated_bytes: of the device after the event, as torch counts them.
        reserved_bytes: of the device after the event, in torch's segments.
        phase: ``forward``, ``backward`` ...
        step: the step that contains the event.
        thread: kernel id of the thread that allocated, or wrote the mark.
        module: path of the module that owns the block.
        op: the operator that allocated the block.
        category: of the block, as in ``--by category``.
        lifetime: of the block, as in ``--by lifetime``.
        line: that allocated the block, as in ``--by line``.
        stack_id: stack of the allocation, for `Events.stack`; each reading numbers stacks anew.
        free_stack_id: stack of the free (``run --frees``), or of the refused request.
        text: name of a phase or step, text of a note.
        shape: of the tensor in the block: of the one that has a name (``peakline tensors``), or on
            a simulated GPU of the result of the operator that allocated the block. The block may be
            larger.
        dtype: of the same tensor: ``bfloat16``.
    """

    event: int
    seconds: float
    time: float
    kind: str
    block: int | None
    bytes: int | None
    requested_bytes: int | None
    address: int | None
    device: int | str | None
    stream: int | None
    allocated_bytes: int | None
    reserved_bytes: int | None
    phase: str
    step: int | None
    thread: int | None
    module: str | None
    op: str | None
    category: str | None
    lifetime: str | None
    line: str | None
    stack_id: int | None
    free_stack_id: int | None
    text: str | None
    shape: tuple[int, ...] | None
    dtype: str | None


class Context(NamedTuple):
    """Values that equal blocks share; the numbers are those of `EventNames`."""

    node: int
    line: int
    category: int
    module: int
    op: int
    phase: int
    lifetime: int


@dataclass
class EventNames:
    """Meanings of the numbers in the columns; grows while events are read."""

    kinds: list[str] = field(default_factory=list)
    phase_names: list[str] = field(default_factory=list)
    streams: list[int] = field(default_factory=list)
    threads: list[tuple[int, str]] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    made_in: list[str] = field(default_factory=list)
    lifetimes: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    frames: list[list[Any]] = field(default_factory=list)
    nodes: list[list[int]] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    tensor_types: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    host_devices: dict[int, str] = field(default_factory=dict)
    tick_seconds: float = 0.0
    start_realtime_ns: int = 0

    def add(self, document: dict[str, Any]) -> None:
        """Add the definitions of a batch."""
        for one in fields(self):
            new = document.get(one.name)
            if new is None:
                continue
            if one.name in ("texts", "host_devices"):
                getattr(self, one.name).update({int(key): text for key, text in new.items()})
            elif one.name == "contexts":
                self.contexts += [Context(*row) for row in new]
            elif one.name == "tensor_types":
                self.tensor_types += [(dtype, tuple(shape)) for dtype, shape in new]
            elif isinstance(new, list):
                getattr(self, one.name).extend(new)
            else:
                setattr(self, one.name, new)

    def frame(self, number: int) -> Location:
        """Return a frame by its number in `frames`."""
        file, line, function, native = self.frames[number]
        return Location(file, line, function, native=native)

    def stack(self, node: int) -> tuple[Location, ...]:
        """Return the frames of a stack, the innermost first."""
        frames = []
        while node != 0:
            parent, frame = self.nodes[node]
            frames.append(self.frame(frame))
            node = parent
        return tuple(frames)


class EventBatch:
    """Some events in order, as columns: `columns` maps each name to a memoryview of numbers."""

    def __init__(self, columns: dict[str, bytes], names: EventNames) -> None:
        """Take a batch of the engine."""
        self.columns: dict[str, memoryview[Any]] = {
            name: memoryview(columns[name]).cast(code)  # type: ignore[call-overload]
            for name, code in _CODES.items()
        }
        self.names = names

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.columns["event"])

    def __iter__(self) -> Iterator[Event]:
        """Yield the events as objects."""
        names = self.names
        start = names.start_realtime_ns * 1e-9
        for row in zip(*(self.columns[name] for name in _CODES), strict=True):
            yield _event(row, names, start)


def _event(row: tuple[Any, ...], names: EventNames, start: float) -> Event:
    (number, seconds, kind, block, size, requested, address, device, stream) = row[:9]
    (allocated, reserved, context, free_node, phase, step, thread, text, tensor) = row[9:]
    dtype, shape = names.tensor_types[tensor] if tensor != _NO_ID else (None, None)
    of = names.contexts[context] if context != _NO_ID else None
    return Event(
        number,
        seconds,
        start + seconds,
        names.kinds[kind],
        _number(block),
        _number(size),
        _number(requested),
        _number(address),
        None if device == _NO_ID else names.host_devices.get(device, device),
        None if stream == _NO_ID else names.streams[stream],
        _number(allocated),
        _number(reserved),
        names.phase_names[phase],
        None if step == _NO_ID else step,
        names.threads[thread][0] if 0 < thread < _NO_ID else None,
        names.modules[of.module] if of else None,
        names.operators[of.op] if of else None,
        names.categories[of.category] if of else None,
        names.lifetimes[of.lifetime] if of else None,
        names.lines[of.line] if of else None,
        of.node if of else None,
        None if free_node == _NO_ID else free_node,
        None if text == _NO_ID else names.texts[text],
        shape,
        dtype,
    )


def _number(value: int) -> int | None:
    return None if value == _NO_NUMBER else value
