"""One of the two runs of a comparison, as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from peakline.recording.rows import AllocatorRow, Location, TableRow

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from peakline._report import Options
    from peakline.recording import Recording


# Facts of the trace, and the category of bytes that are saved for the backward pass.
_FACTS = ("compiled:", "inductor:")
_SAVED = "activation"


@dataclass(frozen=True)
class Line:
    """A line of the program, or a name if the key is no line."""

    key: str  # as in tables; "" for a frame of a stack
    file: str = ""
    line: int = 0
    function: str = ""
    code: str = field(default="", compare=False)

    @property
    def is_line_of_file(self) -> bool:
        """Whether it is a line of a file."""
        return bool(self.file)


@dataclass(frozen=True)
class Row:
    """Bytes and blocks of a line, or of another key."""

    at: Line
    bytes: int
    count: int
    via: tuple[str, ...] = ()  # the operators called there, or inner lines
    stack: tuple[Line, ...] = ()  # for rows by stack: its frames, innermost first


@dataclass(frozen=True)
class Kept:
    """Bytes that the lines of a run save for the backward pass, at the compared moment."""

    is_compiled: bool = False
    saved: Mapping[str, int] = field(default_factory=dict)  # bytes by the key of the line


@dataclass(frozen=True)
class Side:
    """The compared data of a run."""

    name: str
    device: int
    total_bytes: int  # sum of the rows
    rows: tuple[Row, ...]
    # Callers: (file, function) of a frame to the functions that call it.
    callers: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    lines: tuple[Row, ...] = ()  # all lines that allocated anything, if known
    kept: Kept = field(default_factory=Kept)
    too_low: str = ""  # reason why sizes of a simulated run may be too low, as in every report


def start_folder(recording: Recording) -> str:
    """Return the working directory of the program; paths relative to it are those of any clone."""
    folder: str = recording.info()["meta"].get("working_directory", "")
    return folder


def held_of_trace(recording: Recording, **options: Unpack[Options]) -> Side:
    """Return the rows of a trace for the options of `peakline table`.

    Raises:
        peakline._report.TraceError: the trace allows no answer.
    """
    everything: Options = {**options, "top": 0}
    table = recording.report("table", **everything)
    by = options.get("by", "line")
    rows = tuple(_row(one, by) for one in table)
    document = table.document
    return _side(recording, document, document["total_bytes"], rows)


def side_of_trace(recording: Recording, **options: Unpack[Options]) -> Side:
    """Return the same with callers and all allocating lines, which matching needs.

    Raises:
        peakline._report.TraceError: the trace allows no answer.
    """
    held = held_of_trace(recording, **options)
    if options.get("by", "line") != "line":
        return held
    callers, lines = _callers_of(recording, options), lines_of_trace(recording, options)
    return replace(held, callers=callers, lines=lines, kept=kept_of_trace(recording, options))


def phases_of_trace(recording: Recording, device: int | str | None = None) -> Side:
    """Return the highest peak within each phase of a trace."""
    phases = recording.phases(device=device)
    peaks: dict[str, list[int]] = {}
    for one in phases:
        peaks.setdefault(one.name, []).append(one.peak_bytes)
    rows = tuple(Row(Line(name), max(found), len(found)) for name, found in sorted(peaks.items()))
    total = max((row.bytes for row in rows), default=0)
    return _side(recording, phases.document, total, rows)


def allocated_of_trace(recording: Recording, **options: Unpack[Options]) -> Side:
    """Return the bytes that each line, or other key, allocated over the whole run."""
    everything: Options = {**options, "top": 0}
    stats = recording.report("stats", **everything)
    by = options.get("by", "line")
    rows = tuple(_row(one, by) for one in stats)
    total = sum(row.bytes for row in rows)
    return _side(recording, {**stats.document, "device": 0}, total, rows)


def _side(
    recording: Recording, document: dict[str, Any], total: int, rows: tuple[Row, ...]
) -> Side:
    too_low = document["too_low"] or ""
    return Side(str(recording.path), document["device"], total, rows, too_low=too_low)


def _row(one: TableRow | AllocatorRow, by: str) -> Row:
    via = tuple(sorted(part.name or "" for part in one.via))
    at = _at(one.location if by == "line" else None, one.key)
    frames = one.stack if by == "stack" and isinstance(one, TableRow) else ()
    return Row(at, one.bytes, one.count, via, tuple(_line(frame, "") for frame in frames))


def _at(location: Location | None, key: str) -> Line:
    return Line(key) if location is None else _line(location, key)


def _line(frame: Location, key: str) -> Line:
    function = frame.qualified_name or frame.function or ""
    return Line(key, frame.file, frame.line or 0, function, frame.code or "")


def growth_of_trace(recording: Recording, options: Options) -> Side | str:
    """Return the bytes that each growing line gains per step, or why no step can be judged."""
    asked = _some_of(options, "device", "frame", "hide", "cwd")
    growth = recording.report("leaks", **asked)
    document = growth.document
    if document["is_too_short"]:
        return str(document["verdict"])
    if document["unit"] == "time":
        return "this run has no steps; peakline.step() marks them"
    rows = tuple(
        Row(_at(row.location, row.key), row.bytes_per_step or 0, 1)
        for row in growth
        if not row.is_slow
    )
    return _side(recording, document, sum(row.bytes for row in rows), rows)


def lines_of_trace(recording: Recording, options: Options) -> tuple[Row, ...]:
    """Return every line that allocated anything."""
    asked = _some_of(options, "frame", "hide", "cwd")
    return tuple(_row(one, "line") for one in recording.report("stats", **asked))


def _some_of(options: Options, *names: str) -> Options:
    """Return these options, for all rows by line."""
    every: dict[str, Any] = {"top": 0, "by": "line"}
    chosen = every | {name: value for name, value in options.items() if name in names}
    return cast("Options", chosen)


def _callers_of(recording: Recording, options: Options) -> dict[tuple[str, str], frozenset[str]]:
    everything: Options = {**options, "by": "stack", "top": 0}
    stacks = recording.report("table", **everything)
    callers: dict[tuple[str, str], set[str]] = {}
    for row in stacks:
        for inner, outer in zip(row.stack, row.stack[1:], strict=False):
            frame = (inner.file, inner.qualified_name or inner.function or "")
            callers.setdefault(frame, set()).add(outer.qualified_name or outer.function or "")
    return {frame: frozenset(found) for frame, found in callers.items()}


def kept_of_trace(recording: Recording, options: Options) -> Kept:
    """Return what a trace holds; `options` are those of its rows by line."""
    is_compiled = any(key.startswith(_FACTS) for key in recording.info()["meta"])
    asked: Options = {**options, "by": "line,category", "top": 0}
    saved: dict[str, int] = {}
    for row in recording.report("table", **asked):
        line, category = row.keys
        if category == _SAVED:
            saved[line] = saved.get(line, 0) + row.bytes
    return Kept(is_compiled, saved)
