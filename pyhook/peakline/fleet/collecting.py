"""Reads many traces into the tables of a fleet, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.fleet.engines import is_url
from peakline.fleet.identity import run_ids
from peakline.fleet.rows import rows_of_trace
from peakline.fleet.tables import write_rows

if TYPE_CHECKING:
    from peakline.fleet.stores import Store


@dataclass
class Collected:
    """The written tables, and a sentence for each trace that failed."""

    traces: int = 0
    bytes_written: int = 0
    failed: list[str] = field(default_factory=list)


def find_traces(files: Iterable[str]) -> list[Path]:
    """Return the traces among these files and in these folders, each once.

    A packed trace is left out if the trace itself is beside it.
    """
    from peakline.runs.find import without_packed_twins

    found: dict[Path, None] = {}
    for name in files:
        path = Path(name)
        inside = sorted((*path.rglob("*.peak"), *path.rglob("*.peak.zst")))
        found |= dict.fromkeys(inside if path.is_dir() else [path])
    return without_packed_twins(found)


def collect(
    traces: Sequence[Path],
    fleet: str,
    labels: Mapping[str, str],
    progress: Callable[[float], object] | None = None,
) -> Collected:
    """Write the tables of these traces; rows of other traces in the fleet stay.

    Raises:
        FleetError: the fleet is in a store that cannot be written.
    """
    from peakline import _report
    from peakline.runs.pool import reading_pool

    done = Collected()
    target = _target(fleet)
    runs = run_ids(traces)

    def write(path: Path) -> int:
        return write_rows(target, rows_of_trace(str(path), labels, runs.get(path)))

    with reading_pool(traces) as pool:
        running = {pool.submit(write, path): path for path in traces}
        for count, one in enumerate(as_completed(running), 1):
            try:
                done.bytes_written += one.result()
                done.traces += 1
            except _report.TraceError as error:
                done.failed.append(str(error))
            except OSError as error:
                done.failed.append(f"{running[one]}: cannot be summarised: {error}")
            if progress is not None:
                progress(count)
    return done


def _target(fleet: str) -> Path | Store:
    if not is_url(fleet):
        return Path(fleet)
    from peakline.fleet.stores import open_store_to_write

    return open_store_to_write(fleet)
