"""Converts files of torch.distributed._tools.memory_tracker to traces.

Source of the format: MemoryTracker.save_stats. The file has the level after each operator, so only
rises and falls of the level are known, not which block an operator frees: the last allocated block
is assumed to be freed first, as between a forward pass and its backward pass. Levels after every
operator are exactly those of the file; an operator takes a millisecond.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

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

_TICKS = 1_000_000 // TICK_NS  # per millisecond
_MIB = 1 << 20
_PHASES = {"fw_start": "forward", "fw_bw_boundary": "backward"}
_MOST_BYTES = 1 << 48  # report/trace/definitions/definitions.h: kMaxBlockBytes
Value = TypeVar("Value")
KEY = "memories_allocated"  # the key that identifies such a file


@dataclass(frozen=True)
class Piece:
    """Bytes that an operator allocated, until another one freed them."""

    begin: int  # index of an operator
    end: int | None
    bytes: int


def write_trace(stats: Any, path: Path) -> int:
    """Write an unpickled file of a tracker as a trace; return the number of operators.

    Raises:
        UnreadableError: it is no file of a tracker.
        peakline._report.TraceError: the file cannot be written; an existing one stays.
    """
    from peakline import _report

    try:
        levels = [_level(index, one) for index, one in sorted(stats[KEY].items())]
        markers = {
            _is(str, name): _is(int, at) for name, at in (stats.get("markers") or {}).items()
        }
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UnreadableError(f"not what MemoryTracker.save_stats() writes: {error}") from error
    _write(_report.TraceWriter(str(path), 0), levels, markers)
    return len(levels)


def _level(index: object, one: tuple[object, float]) -> tuple[int, str, int]:
    name, mebibytes = one
    size = round(mebibytes * _MIB)
    if not 0 <= size < _MOST_BYTES:
        raise ValueError(f"a level of {size} bytes")
    return _is(int, index), _is(str, name), size


def _is(kind: type[Value], value: object) -> Value:
    if not isinstance(value, kind):
        raise TypeError(f"a {type(value).__name__} instead of a {kind.__name__}")
    return value


def pieces_of(levels: list[int]) -> Iterator[Piece]:
    """Yield the allocations behind these levels; the last allocated bytes are freed first.

    They are sorted by beginning; those of one operator by falling lifetime.
    """
    waiting: list[tuple[int, int]] = []  # operator, live bytes
    found: list[Piece] = []
    before = 0
    for index, level in enumerate(levels):
        if level > before:
            waiting.append((index, level - before))
        freed = before - level
        while freed > 0:
            begin, size = waiting.pop()
            taken = min(size, freed)
            found.append(Piece(begin, index, taken))
            freed -= taken
            if taken < size:
                waiting.append((begin, size - taken))
        before = level
    found += [Piece(begin, None, size) for begin, size in waiting]
    last = len(levels)
    yield from sorted(found, key=lambda one: (one.begin, -(last if one.end is None else one.end)))


def _write(
    writer: TraceWriter, levels: list[tuple[int, str, int]], markers: dict[str, int]
) -> None:
    writer.meta("imported_from", "statistics of torch's MemoryTracker")
    writer.meta("stacks", "python")
    writer.mark(0, TRACING_STARTED, 0)
    made: dict[int, list[Piece]] = {}
    ends: dict[int, list[tuple[int, int]]] = {}  # ordinal and bytes
    for piece in pieces_of([level for _, _, level in levels]):
        made.setdefault(piece.begin, []).append(piece)
    phases = _Phases(writer, markers)
    stream, address, tick = writer.stream(0), 1 << 40, 0
    for position, (index, name, _) in enumerate(levels):
        tick = (position + 1) * _TICKS
        phases.reach(index, tick)
        for ordinal, size in ends.pop(position, []):
            writer.free(tick, ordinal, size, PLAIN_FREE, 0)
        for piece in made.get(position, []):
            size = piece.bytes
            ordinal = writer.alloc(tick, _context(writer, name), 0, stream, size, size, address)
            address += size
            if piece.end is not None:
                ends.setdefault(piece.end, []).append((ordinal, size))
    tick += _TICKS
    phases.end(tick)
    end_trace(writer, tick)


def _context(writer: TraceWriter, name: str) -> int:
    """Return a stack of one frame: "0.forward" and "addmm.default_0" are its file and function."""
    for stage in (".forward.", ".backward."):
        where, found, operator = name.partition(stage)
        if found:
            where += stage[:-1]
            break
    else:
        where, operator = name, ""
    return writer.context(writer.node(0, plain_text(where), 0, plain_text(operator)), 0)


class _Phases:
    """A marker of the tracker begins a phase, which ends at the next marker."""

    def __init__(self, writer: TraceWriter, markers: dict[str, int]) -> None:
        self._writer = writer
        self._next = deque(sorted((index, name) for name, index in markers.items()))
        self._open = 0  # string id

    def reach(self, index: int, tick: int) -> None:
        while self._next and self._next[0][0] <= index:
            _, name = self._next.popleft()
            self.end(tick)
            self._open = self._writer.string(plain_text(_PHASES.get(name, name)))
            self._writer.mark(tick, PHASE_BEGIN, self._open)

    def end(self, tick: int) -> None:
        if self._open:
            self._writer.mark(tick, PHASE_END, self._open)
        self._open = 0
