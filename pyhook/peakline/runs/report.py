"""`peakline ranks` as a document, the source of its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peakline.base.sizes import median_of
from peakline.runs.compare import (
    Coordinate,
    Outlier,
    Process,
    Row,
    compare_coordinates,
    compare_rows,
    find_outliers,
    process_of,
)
from peakline.runs.coordinates import found_coordinates, given_coordinates
from peakline.runs.find import Run
from peakline.runs.members import Member


@dataclass(frozen=True)
class Comparison:
    """The processes of a run for comparison, ordered by rank."""

    run: Run
    by: str
    processes: tuple[Process, ...]
    rows: tuple[Row, ...]
    coordinates: tuple[Coordinate, ...]
    outliers: tuple[Outlier, ...]
    unreadable: tuple[str, ...]

    @property
    def heaviest(self) -> Process:
        """The process with the highest peak."""
        return max(self.processes, key=lambda one: one.peak_bytes)

    @property
    def lightest(self) -> Process:
        """The process with the lowest peak."""
        return min(self.processes, key=lambda one: one.peak_bytes)

    @property
    def first(self) -> Process:
        """The process that reached its peak first."""
        return min(self.processes, key=lambda one: one.peak_at)

    @property
    def median_bytes(self) -> int:
        """The median of the peaks."""
        return median_of(one.peak_bytes for one in self.processes)

    @property
    def cut(self) -> list[Process]:
        """The processes with a trace that ends before they do."""
        return [one for one in self.processes if not one.is_whole]


def compare_run(
    run: Run, outlines: Sequence[Mapping[str, Any] | Exception], by: str, mesh: str = ""
) -> Comparison:
    """Compare the ranks of a run, or its processes if it has no ranks.

    Args:
        run: from `find.runs_of`.
        outlines: of `run.compared`, or the errors.
        by: "line", "module", "op" or "category".
        mesh: the dimensions of the job, if process groups do not name them.

    Raises:
        MeshError: the mesh does not fit this run.
        ValueError: no outline could be read.
    """
    coordinates = (
        given_coordinates(mesh, run.world_size) if mesh else found_coordinates(run.compared)
    )
    processes, unreadable = [], list(run.unreadable)
    for member, outline in zip(run.compared, outlines, strict=True):
        if isinstance(outline, Exception):
            unreadable.append(str(outline))
            continue
        places = coordinates.get(member.rank, {}) if member.rank is not None else {}
        processes.append(process_of(member, outline, places))
    if not processes:
        raise ValueError("; ".join(unreadable))
    return Comparison(
        run,
        by,
        tuple(processes),
        tuple(compare_rows(processes, by)),
        tuple(compare_coordinates(processes)),
        tuple(find_outliers(processes, by)),
        tuple(unreadable),
    )


def document_of(comparison: Comparison) -> dict[str, Any]:
    """Return the document of `peakline ranks --json`. Bytes; seconds since the epoch."""
    run = comparison.run
    return {
        "schema_version": 1,
        "run": run.id,
        "name": run.name,
        "job": run.members[0].job or None,
        "world_size": run.world_size,
        "missing_ranks": run.missing,
        "unreadable": list(comparison.unreadable),
        "median_bytes": comparison.median_bytes,
        "heaviest": _who(comparison.heaviest.member),
        "lightest": _who(comparison.lightest.member),
        "first_to_peak": _who(comparison.first.member),
        "processes": [_process(one) for one in comparison.processes],
        "other_processes": [_who(one) for one in run.others],
        "by": comparison.by,
        "rows": [
            {
                "key": row.key,
                "min_bytes": row.min_bytes,
                "median_bytes": row.median_bytes,
                "max_bytes": row.max_bytes,
                "spread_bytes": row.spread_bytes,
                "heaviest": _who(row.heaviest),
                "process_count": row.count,
            }
            for row in comparison.rows
        ],
        "dimensions": [
            {
                "dimension": coordinate.dimension,
                "index": coordinate.index,
                "process_count": coordinate.count,
                "median_bytes": coordinate.median_bytes,
                "max_bytes": coordinate.max_bytes,
            }
            for coordinate in comparison.coordinates
        ],
        "outliers": [
            {
                **_who(one.process.member),
                "bytes_above": one.bytes_above,
                "peers_bytes": one.peers_bytes,
                "rows": [{"key": key, "bytes_above": size} for key, size in one.rows],
            }
            for one in comparison.outliers
        ],
    }


def _who(member: Member) -> dict[str, Any]:
    return {
        "rank": member.rank,
        "attempt": member.attempt,
        "host": member.host,
        "pid": member.pid,
        "file": str(member.path),
    }


def _process(one: Process) -> dict[str, Any]:
    return {
        **_who(one.member),
        "local_rank": one.member.local_rank,
        "device": one.device,
        "peak_bytes": one.peak_bytes,
        "peak_at": one.peak_at,
        "phase": one.phase or None,
        "step": one.step,
        "complete": one.is_whole,
        "coordinates": dict(one.coordinates),
        "too_low": one.too_low or None,
    }
