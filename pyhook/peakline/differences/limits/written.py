"""Writes a file of limits from recorded runs: ``peakline check --write-limits``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from peakline.base.output import printable
from peakline.base.sizes import least_size_above
from peakline.differences import side
from peakline.differences.limits.limit import (
    CODE,
    DEVICE,
    GROWTH,
    LINE,
    MAX,
    PEAK,
    PHASE,
    RESERVED,
    Limit,
)
from peakline.recording import Recording

if TYPE_CHECKING:
    from peakline._report import Options

_LEAST_SHARE = 100  # rows below a hundredth of the peak get no limit
_MOST_ROWS = 10  # of a kind
_NO_PHASES = ("between phases", "other")
_NO_ROWS = ("outside of modules", "untraced", "unknown")


def limits_of_runs(paths: Sequence[str], tolerance: float, options: Options) -> list[Limit]:
    """Return the limits that hold for all these traces, and leave them the share `tolerance`."""
    highest: dict[tuple[str | None, str, str], Limit] = {}
    for path in paths:
        for one in _limits_of_run(Recording(path), options):
            key = (one.device, one.kind, one.name)
            if key not in highest or highest[key].most_bytes < one.most_bytes:
                highest[key] = one
    return [
        replace(one, most_bytes=int(one.most_bytes * (1 + tolerance))) for one in highest.values()
    ]


def _limits_of_run(recording: Recording, options: Options) -> Iterator[Limit]:
    asked: Options = {**options, "top": 1}
    devices = recording.document("table", **asked)["devices"]
    used = [
        one["device"] for one in devices if one["peak_bytes"] and isinstance(one["device"], int)
    ]
    if len(used) < 2 or options.get("device") is not None:
        yield from _limits_of_device(recording, options, None)
        return
    for number in used:
        of_device: Options = {**options, "device": str(number)}
        yield from _limits_of_device(recording, of_device, str(number))


def _limits_of_device(
    recording: Recording, options: Options, device: str | None
) -> Iterator[Limit]:
    peak = side.held_of_trace(recording, **options)
    yield Limit(PEAK, "", peak.total_bytes, device)
    in_segments: Options = {**options, "measure": RESERVED}
    reserved = side.held_of_trace(recording, **in_segments)
    if reserved.total_bytes:
        yield Limit(RESERVED, "", reserved.total_bytes, device, RESERVED)
    growth = side.growth_of_trace(recording, options)
    if not isinstance(growth, str):
        yield Limit(GROWTH, "", growth.total_bytes, device)
    for row in side.phases_of_trace(recording, options.get("device")).rows:
        if row.at.key not in _NO_PHASES:
            yield Limit(PHASE, row.at.key, row.bytes, device)
    least = peak.total_bytes // _LEAST_SHARE
    for kind in ("category", "module", LINE):
        rows = _rows_by(recording, kind, options)
        large = [one for one in rows if one.bytes > least and one.at.key not in _NO_ROWS]
        for row in large[:_MOST_ROWS]:
            yield Limit(kind, row.at.key, row.bytes, device, code=row.at.code)


def _rows_by(recording: Recording, kind: str, options: Options) -> tuple[side.Row, ...]:
    """Return the rows of a kind; repeated layers are folded if the names are globs of just them."""
    asked: Options = {**options, "by": kind, "cwd": side.start_folder(recording)}
    is_folded: Options = {**asked, "fold": True}
    folded = side.held_of_trace(recording, **is_folded).rows
    if kind != "module":
        return folded

    def is_glob_of(row: side.Row) -> bool:
        chosen: Options = {**asked, "where": [f"{kind}={row.at.key}"], "top": 1}
        return bool(recording.document("table", **chosen)["where_bytes"] == row.bytes)

    if all(map(is_glob_of, folded[:_MOST_ROWS])):
        return folded
    return side.held_of_trace(recording, **asked).rows


def text_of(limits: Iterable[Limit], written_from: Sequence[str]) -> str:
    """Return the file, a table for each kind, and a comment with its origin."""
    lines = [
        f"# Limits of `peakline check --limits`, from {printable(', '.join(written_from))}.",
        '# A size is "70GB", "1.5MiB" or a number of bytes.',
    ]
    by_table: dict[str, list[Limit]] = {}
    for one in limits:
        by_table.setdefault(_table_of(one), []).append(one)
    for table, of_table in sorted(by_table.items(), key=lambda pair: _order_of(pair[1][0])):
        lines += ["", *([f"[{table}]"] if table else [])]
        lines += [_line_of(one) for one in of_table]
    return "\n".join(lines) + "\n"


def _order_of(limit: Limit) -> tuple[str, bool]:
    return limit.device or "", bool(limit.name)


def _table_of(limit: Limit) -> str:
    parts = [] if limit.device is None else [DEVICE, limit.device]
    return ".".join([*parts, *([limit.kind] if limit.name else [])])


def _line_of(limit: Limit) -> str:
    size = _quoted(least_size_above(limit.most_bytes))
    key = _quoted(limit.name) if limit.name else limit.kind
    if limit.code:
        return f"{key} = {{ {MAX} = {size}, {CODE} = {_quoted(limit.code)} }}"
    return f"{key} = {size}"


def _quoted(text: str) -> str:
    """Return a basic string of TOML."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if printable(character) == character:
        return character
    is_surrogate = 0xD800 <= ord(character) < 0xE000  # TOML has no escape for it
    return "?" if is_surrogate else f"\\U{ord(character):08X}"
