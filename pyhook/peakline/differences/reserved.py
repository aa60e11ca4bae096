"""Why reserved memory grew since a moment: ``peakline leaks --measure reserved --since WHEN``.

The pieces of torch's segments are followed from that moment to the end. A new piece has the request
that made torch ask the driver, and the blocks that keep it now. Rows sum to the growth.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from peakline.base.engine import CommandError, report_engine
from peakline.base.sizes import size_of
from peakline.differences.text import columns, signed
from peakline.recording.live_state import duration_of

if TYPE_CHECKING:
    from peakline.recording import Recording
    from peakline.recording.event_batches import Event

_ADDED, _REMOVED = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")
_SAME_MOMENT = 10e-9  # seconds; times have 15 digits in a document, a tick is 128 ns
_UNKNOWN = "unknown"
_RETURNED = "segments from before that returned to the device"
OLDER = "requests from before the known events"


@dataclass
class Piece:
    """A part of a segment; ``request`` is the block that torch made it for."""

    begin: int
    end: int
    since: Event | None = None  # None: it is older than the moment
    request: Event | None = None


@dataclass(frozen=True)
class Reason:
    """The request of some new pieces, and what keeps them.

    ``keeps`` has the bytes of live blocks in them by line, most first. ``pool`` is their private
    pool, or 0.
    """

    line: str
    keeper: str
    pool: int


@dataclass(frozen=True)
class GrownRow:
    """The pieces with one reason; ``live_bytes`` is what their blocks hold at the end."""

    line: str
    keeper: str
    pool: int
    bytes: int
    pieces: int = 0
    live_bytes: int = 0
    largest_request_bytes: int = 0
    first_seconds: float | None = None
    first_step: int | None = None


@dataclass(frozen=True)
class ReservedSince:
    """The growth of a device's reserved memory; the rows sum to it, largest first."""

    file: str
    device: int
    since_seconds: float
    begin_bytes: int
    end_bytes: int
    rows: Sequence[GrownRow] = field(default_factory=list)
    # Bytes by requesting line of the pieces from before the kept events; of the whole run only.
    older_requests: Mapping[str, int] = field(default_factory=dict)

    @property
    def delta_bytes(self) -> int:
        """The growth."""
        return self.end_bytes - self.begin_bytes


def reserved_since(
    recording: Recording, since: str | float | None, device: str | None, **options: Any
) -> ReservedSince:
    """Return why reserved memory grew since a moment; None: since the program began.

    Args:
        recording: the run.
        since: seconds since the trace began, "step@N", or a local time as "2030-01-31T08:00".
        device: a number; None: the GPU with the highest peak.
        options: those of a report about lines: frame, hide, symbols, full_paths.

    Raises:
        CommandError: it is no moment of this run, or the trace does not have the events since then.
        peakline._report.TraceError: it has no segments of this device.
    """
    kept = recording.document("summary", top=1)["kept"]
    known_from = float(kept["from_seconds"]) if kept else 0.0
    moment = _seconds_of(since, recording)
    is_whole = moment is None
    since_seconds = known_from if moment is None else moment
    if since_seconds < known_from:
        raise CommandError(
            f"{recording.path}: single events are known from {duration_of(known_from)} on: give a"
            f" later --since, or none for the whole run (--keep {kept['keep']} dropped the others)"
        )
    now = recording.document("map", at="end", device=device, top=0, **options)
    number = now["device"]
    then = _map_at(recording, since_seconds, number, options)
    old = [Piece(one["address"], one["address"] + one["bytes"]) for one in then["segments"]]
    pieces = _Pieces(old)
    for event in _segment_events(recording, since_seconds, number, options):
        if event.seconds - then["seconds"] > _SAME_MOMENT:
            pieces.apply(event)
    grown = [one for one in pieces.all if is_whole or one.since is not None]
    rows = _rows_of(grown, now["segments"])
    begin, end = int(then["reserved_bytes"]), int(now["reserved_bytes"])
    remaining = sum(one.end - one.begin for one in pieces.all if one.since is None)
    older = {}
    if is_whole:
        begin, since_seconds = 0, 0.0
        older = _older_requests(recording, number, rows, options) if remaining else {}
    elif begin != remaining:
        returned = len(old) - sum(one.since is None for one in pieces.all)
        rows.append(GrownRow(_RETURNED, "", 0, remaining - begin, returned))
    rest = end - begin - sum(row.bytes for row in rows)
    if rest:
        rows.append(GrownRow(_UNKNOWN, "", 0, rest))
    rows.sort(key=lambda row: (-abs(row.bytes), row.line))
    return ReservedSince(str(recording.path), number, since_seconds, begin, end, rows, older)


def _seconds_of(since: str | float | None, recording: Recording) -> float | None:
    """Return a moment in seconds since the trace began; None: the whole run.

    Raises:
        CommandError: it is no moment of this run.
    """
    if since is None:
        return None
    text = str(since)
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return float(text)
    if found := re.fullmatch(r"step@([0-9]+)", text):
        begins = [one.begin_seconds for one in recording.steps() if one.step == int(found[1])]
        if begins:
            return float(begins[0])
        raise CommandError(f"{text}: {recording.path} has no such step")
    try:
        moment: float = datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise CommandError(f"{text}: give seconds, step@N or 2030-01-31T08:00") from None
    seconds: float = moment - recording.info()["start_realtime_ns"] * 1e-9
    if seconds < 0:
        raise CommandError(f"{text} is before the recording began")
    return seconds


def _older_requests(
    recording: Recording, device: int, rows: Iterable[GrownRow], options: Mapping[str, Any]
) -> dict[str, int]:
    """Return the bytes by line of segments at the end, without those of known requests."""
    table = recording.report(
        "table", measure="reserved", at="end", device=str(device), top=0, **options
    )
    found = {row.key: row.bytes for row in table}
    for one in rows:
        if one.line in found:
            found[one.line] -= one.bytes
    return {line: size for line, size in found.items() if size > 0}


def _map_at(
    recording: Recording, seconds: float, device: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        return recording.document("map", at=str(seconds), device=str(device), top=0, **options)
    except report_engine().TraceError:  # there was no segment yet
        return {"segments": [], "reserved_bytes": 0, "seconds": -1.0}


def _segment_events(
    recording: Recording, seconds: float, device: int, options: Mapping[str, Any]
) -> Iterator[Event]:
    """Yield the events of segments up to the end of main, and the block that follows each."""
    events = recording.events(during=f"{seconds}..", device=str(device), **options)
    asks = False
    for batch in events.batches():
        names = batch.names.kinds
        kinds = bytes(batch.columns["kind"])
        wanted = [n for n, name in enumerate(names) if name in (*_ADDED, *_REMOVED, "main_end")]
        if not asks and not any(one in kinds for one in wanted):
            continue
        for event in batch:
            if event.kind == "main_end":
                return
            if event.kind in _ADDED or event.kind in _REMOVED:
                asks = event.kind in _ADDED
                yield event
            elif asks and event.kind == "alloc":
                asks = False
                yield event


class _Pieces:
    """Pieces by address; no two overlap."""

    def __init__(self, old: Iterable[Piece]) -> None:
        self.all = sorted(old, key=_begin_of)
        self._asking: list[Piece] = []  # new ones without a request

    def apply(self, event: Event) -> None:
        """Add or cut pieces, or note the request of the newest ones."""
        begin, size = event.address or 0, event.bytes or 0
        if event.kind in _ADDED:
            new = Piece(begin, begin + size, event)
            insort(self.all, new, key=_begin_of)
            self._asking.append(new)
        elif event.kind in _REMOVED:
            first = max(bisect_right(self.all, begin, key=_begin_of) - 1, 0)
            last = bisect_left(self.all, begin + size, key=_begin_of)
            cut = [_without(one, begin, begin + size) for one in self.all[first:last]]
            self.all[first:last] = chain.from_iterable(cut)
            self._asking = []
        else:
            for one in self._asking:
                one.request = event
            self._asking = []


def _begin_of(piece: Piece) -> int:
    return piece.begin


def _without(piece: Piece, begin: int, end: int) -> Iterator[Piece]:
    if end <= piece.begin or piece.end <= begin:
        yield piece
        return
    for low, high in ((piece.begin, begin), (end, piece.end)):
        if low < high:
            yield Piece(low, high, piece.since, piece.request)


def _rows_of(pieces: Iterable[Piece], segments: Sequence[Mapping[str, Any]]) -> list[GrownRow]:
    by_address = sorted(segments, key=lambda one: one["address"])
    begins = [one["address"] for one in by_address]
    found: dict[Reason, list[tuple[Piece, int]]] = {}  # with the bytes of their blocks
    for piece in pieces:
        held: dict[str, int] = {}
        pool = 0
        first = max(bisect_right(begins, piece.begin) - 1, 0)
        for segment in by_address[first : bisect_left(begins, piece.end)]:
            if piece.begin < segment["address"] + segment["bytes"]:
                pool = segment["pool"]
                for line, size in _held_in(piece, segment["blocks"]):
                    held[line] = held.get(line, 0) + size
        keeper = max(held, key=lambda line: (held[line], line), default="")
        line = (piece.request.line if piece.request else None) or _UNKNOWN
        reason = Reason(line if piece.since else OLDER, keeper, pool)
        found.setdefault(reason, []).append((piece, sum(held.values())))
    return [_row_of(reason, alike) for reason, alike in found.items()]


def _row_of(reason: Reason, alike: Sequence[tuple[Piece, int]]) -> GrownRow:
    requests = [one.request for one, _ in alike if one.request]
    since = [one.since for one, _ in alike if one.since]
    first = min(since, key=lambda event: event.seconds, default=None)
    return GrownRow(
        reason.line,
        reason.keeper,
        reason.pool,
        bytes=sum(one.end - one.begin for one, _ in alike),
        pieces=len(alike),
        live_bytes=sum(held for _, held in alike),
        largest_request_bytes=max(
            (one.requested_bytes or one.bytes or 0 for one in requests), default=0
        ),
        first_seconds=first.seconds if first else None,
        first_step=first.step if first else None,
    )


def _held_in(piece: Piece, blocks: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    for block in blocks:
        size = min(block["address"] + block["bytes"], piece.end) - max(
            block["address"], piece.begin
        )
        if size > 0:
            yield block["location"] or _UNKNOWN, size


def document_of(found: ReservedSince) -> dict[str, Any]:
    """Return the JSON document of the report."""
    head = {"schema_version": 1, "measure": "reserved", "delta_bytes": found.delta_bytes}
    return {**head, **asdict(found)}


def reserved_text(found: ReservedSince, top: int) -> list[str]:
    """Return the lines of the report; `top` 0: all rows."""
    lines = [
        f"Reserved memory of device {found.device}: {size_of(found.begin_bytes)} at"
        f" {duration_of(found.since_seconds)}, {size_of(found.end_bytes)} at the end:"
        f" {signed(found.delta_bytes)}"
    ]
    shown = found.rows[:top] if top else found.rows
    cells = [
        (signed(row.bytes), str(row.pieces or "-"), _moment_of(row), row.line) for row in shown
    ]
    heads = ("Change", "Pieces", "First", "Requested at")
    texts = columns([heads, *cells], left=(3,))
    lines += [texts[0].rstrip()] if shown else []
    indent = " " * (texts[0].index(heads[3]) + 2)
    for text, row in zip(texts[1:], shown, strict=True):
        lines += [text.rstrip(), *(f"{indent}{one}" for one in _reasons_of(row))]
    hidden = len(found.rows) - len(shown)
    lines += [f"{hidden} more rows (--top 0 shows them)"] if hidden else []
    if found.older_requests:
        lines.append(f"{OLDER[0].upper()}{OLDER[1:]}:")
        lines += [f"  {size_of(size)}  {line}" for line, size in found.older_requests.items()]
    return lines


def _moment_of(row: GrownRow) -> str:
    if row.first_seconds is None:
        return "-"
    step = "" if row.first_step is None else f", step {row.first_step}"
    return duration_of(row.first_seconds) + step


def _reasons_of(row: GrownRow) -> list[str]:
    if row.line in (_RETURNED, _UNKNOWN):
        return []
    free = size_of(row.bytes - row.live_bytes)
    if row.pool:
        keeps = f"kept by private pool {row.pool}: {size_of(row.live_bytes)} live, {free} free"
    elif row.keeper:
        keeps = f"kept by blocks of {row.keeper}: {size_of(row.live_bytes)} live, {free} free"
    else:
        keeps = f"kept by no block: empty_cache() returns {free}"
    if row.line == OLDER:
        return [keeps]
    return [f"for a request of {size_of(row.largest_request_bytes)}", keeps]
