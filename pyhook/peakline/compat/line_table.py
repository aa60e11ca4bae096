"""The table of lines for callers that choose which files count."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.api.tracing import recorder_that_is_on
from peakline.base.output import write_lines
from peakline.base.sizes import median_of, size_of
from peakline.recording import TableRow
from peakline.recording.rows import row_of

if TYPE_CHECKING:
    from peakline._report import Trace


def print_table(is_chosen: Callable[[str], bool]) -> None:
    """Print the table at the peak of the traced ranges; needs no file.

    A stack is represented by its innermost frame of a chosen file; without one, by its innermost
    frame.
    """
    import peakline._report as report

    trace: Trace = report.Trace(recorder_that_is_on("report_stats").summary_trace())
    document = json.loads(trace.report("table", by="stack", json=True, cwd=str(Path.cwd())))
    write_lines(
        f"Max mem: {size_of(document['peak_bytes'])}",
        f"Total mem allocated: {size_of(document['total_allocated_bytes'])}",
        "Mem, Cumulative Mem, Median, Count, Location",
    )
    lines: dict[str, list[TableRow]] = defaultdict(list)
    for row in (row_of(TableRow, one) for one in document["rows"]):
        chosen = [one for one in row.stack if is_chosen(one.file)] or list(row.stack)
        location = (
            f"{chosen[0].file}:{chosen[0].line} ({chosen[0].function})" if chosen else row.key
        )
        lines[location].append(row)
    cumulative = 0
    for location, rows in sorted(lines.items(), key=lambda one: (-_bytes(one[1]), one[0])):
        cumulative += _bytes(rows)
        count = sum(row.count for row in rows)
        sizes = [size_of(_bytes(rows)), size_of(cumulative), size_of(_median(rows))]
        write_lines("  ".join([*sizes, str(count), location]))


def _bytes(rows: list[TableRow]) -> int:
    return sum(row.bytes for row in rows)


def _median(rows: list[TableRow]) -> int:
    """Return the median of the rows' medians, weighted by their numbers of blocks."""
    return median_of(row.median_bytes for row in rows for _ in range(row.count))
