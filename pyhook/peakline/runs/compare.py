"""Compares the ranks of a run: the heaviest, the uneven rows, the outliers and their reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from peakline.base.sizes import median_of
from peakline.runs.members import Member

# An outlier is this far from the median of its peers, both as a share of that median and as a
# multiple of their median deviation: a spread that all ranks have makes no outliers.
_OUTLIER_SHARE = 0.05
_OUTLIER_DEVIATIONS = 4
_LINES_OF_OUTLIER = 3
_REASON_SHARE = 0.1  # of its excess: smaller rows explain nothing


@dataclass(frozen=True)
class Process:
    """A process with its peak. Bytes; seconds since the epoch."""

    member: Member
    device: int | str
    peak_bytes: int
    peak_at: float
    phase: str  # phase of its peak, "" if unknown
    step: int | None
    is_whole: bool
    # By grouping key: name to bytes at the peak; with several devices, at the peak of their sum.
    rows: Mapping[str, Mapping[str, int]]
    coordinates: Mapping[str, int] = field(default_factory=dict)
    too_low: str = ""  # reason why its sizes may be too low, as in every report


@dataclass(frozen=True)
class Row:
    """Memory of one line, module or category in each process. Bytes."""

    key: str
    min_bytes: int
    median_bytes: int
    max_bytes: int
    heaviest: Member
    count: int  # number of processes that hold it

    @property
    def spread_bytes(self) -> int:
        """Difference between the processes with the most and the fewest bytes."""
        return self.max_bytes - self.min_bytes


@dataclass(frozen=True)
class Coordinate:
    """All processes with one index along a dimension. Bytes."""

    dimension: str
    index: int
    count: int
    median_bytes: int
    max_bytes: int


@dataclass(frozen=True)
class Outlier:
    """A process that holds more or less than its peers, and the rows that explain it."""

    process: Process
    peers_bytes: int  # their median peak
    rows: tuple[tuple[str, int], ...]  # name, bytes above the median of the peers

    @property
    def bytes_above(self) -> int:
        """Excess of its peak over that of its peers in bytes; negative: below."""
        return self.process.peak_bytes - self.peers_bytes


def process_of(
    member: Member, outline: Mapping[str, Any], coordinates: Mapping[str, int]
) -> Process:
    """Return a process from its trace's outline."""
    chosen = outline["chosen"]
    best = max(chosen["phases"], key=lambda one: int(one["peak_bytes"]), default=None)
    is_known = best is not None and best["peak_bytes"] == chosen["peak_bytes"]
    rows = {
        by: {str(row["key"]): int(row["bytes"]) for row in found}
        for by, found in (outline.get("rows_of_all") or outline["rows"]).items()
    }
    return Process(
        member=member,
        device=chosen["device"],
        peak_bytes=int(chosen["peak_bytes"]),
        peak_at=member.started + float(chosen["peak_seconds"]),
        phase=str(best["name"]) if best is not None and is_known else "",
        step=best["peak_step"] if best is not None and is_known else None,
        is_whole=bool(outline["complete"]),
        rows=rows,
        coordinates=coordinates,
        too_low=outline.get("too_low") or "",
    )


def compare_rows(processes: Sequence[Process], by: str) -> list[Row]:
    """Return the memory of each key over all processes, the most uneven first."""
    held: dict[str, list[tuple[int, Member]]] = defaultdict(list)
    for one in processes:
        for key, size in one.rows.get(by, {}).items():
            held[key].append((size, one.member))
    rows = []
    for key, found in held.items():
        sizes = [size for size, _ in found] + [0] * (len(processes) - len(found))
        most = max(found, key=lambda pair: pair[0])
        middle = median_of(sizes)
        rows.append(Row(key, min(sizes), middle, most[0], most[1], len(found)))
    return sorted(rows, key=lambda row: (-row.spread_bytes, -row.max_bytes, row.key))


def compare_coordinates(processes: Sequence[Process]) -> list[Coordinate]:
    """Return the peaks by index along every dimension with several indexes."""
    peaks: dict[tuple[str, int], list[int]] = defaultdict(list)
    for one in processes:
        for dimension, index in one.coordinates.items():
            peaks[dimension, index].append(one.peak_bytes)
    count_of: dict[str, int] = defaultdict(int)
    for dimension, _ in peaks:
        count_of[dimension] += 1
    return [
        Coordinate(dimension, index, len(found), median_of(found), max(found))
        for (dimension, index), found in sorted(peaks.items())
        if count_of[dimension] > 1
    ]


def find_outliers(processes: Sequence[Process], by: str) -> list[Outlier]:
    """Return the outliers among their peers, the farthest first.

    Peers are in the same pipeline stage: stages hold different layers.
    """
    peers: dict[int | None, list[Process]] = defaultdict(list)
    for one in processes:
        peers[one.coordinates.get("pp")].append(one)
    outliers = [found for group in peers.values() for found in _among(group, by)]
    return sorted(outliers, key=lambda one: -abs(one.bytes_above))


def _among(group: Sequence[Process], by: str) -> list[Outlier]:
    if len(group) < 3:  # of two, either may be the odd one
        return []
    middle = median_of(one.peak_bytes for one in group)
    deviation = median_of(abs(one.peak_bytes - middle) for one in group)
    least = max(_OUTLIER_SHARE * middle, _OUTLIER_DEVIATIONS * deviation)
    odd = [one for one in group if abs(one.peak_bytes - middle) > least]
    if not odd:
        return []
    typical = _medians(group, by)
    return [Outlier(one, middle, _reasons(one, typical, by)) for one in odd]


def _medians(group: Sequence[Process], by: str) -> Mapping[str, int]:
    return {row.key: row.median_bytes for row in compare_rows(group, by)}


def _reasons(one: Process, typical: Mapping[str, int], by: str) -> tuple[tuple[str, int], ...]:
    own = one.rows.get(by, {})
    above = {key: own.get(key, 0) - typical.get(key, 0) for key in {*own, *typical}}
    middle = sum(typical.values())
    sign = 1 if sum(own.values()) >= middle else -1
    named = sorted(above.items(), key=lambda pair: (-sign * pair[1], pair[0]))
    least = _REASON_SHARE * abs(sum(above.values()))
    return tuple(pair for pair in named[:_LINES_OF_OUTLIER] if sign * pair[1] > least)
