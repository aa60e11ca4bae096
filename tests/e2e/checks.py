"""What several tests ask of a table, beside the number they came for."""

from __future__ import annotations

import re
import statistics
from itertools import accumulate
from pathlib import Path
from typing import Any

from lab import ON_GPU, Lab

SIZE = r"\d[\d.]* [KMGT]?B"
# The literal form of the table, line by line: header lines, then rows.
TABLE_LINES = (
    re.compile(rf"Max mem: {SIZE}"),
    re.compile(rf"Total mem allocated: {SIZE}"),
    re.compile(r"Mem, Cumulative Mem, Median, Count, Location"),
)
TABLE_ROW = re.compile(rf"(?P<mem>{SIZE})  {SIZE}  {SIZE}  \d+  (?P<location>\S.*?)(?:  via .*)?")


def check_whole(table: dict[str, Any]) -> None:
    """Nothing is missing, and the rows of the full table sum to its total to the byte."""
    assert table["complete"], table["problems"]
    assert table["problems"] == []
    assert table["records_dropped"] == 0
    sizes = [row["bytes"] for row in table["rows"]]
    assert len(sizes) == table["row_count"]
    assert sum(sizes) == table["total_bytes"]
    assert [row["cumulative_bytes"] for row in table["rows"]] == list(accumulate(sizes))
    assert sizes == sorted(sizes, reverse=True)


def check_peak(table: dict[str, Any], peak_bytes: int) -> None:
    """The table is whole, and its peak is the given one."""
    assert table["peak_bytes"] == peak_bytes
    assert table["total_bytes"] == peak_bytes
    check_whole(table)


def median_of(values: list[int]) -> int:
    return int(statistics.median(values))


def time_of(seconds: float) -> str:
    """A moment of a run as reports print it: to a tenth from ten seconds on."""
    return f"{seconds:.{3 if seconds < 10 else 1}f} s"


def without_device(text: str) -> str:
    """A report without its first line, which on the simulated GPU says so, and names it."""
    first, _, rest = text.partition("\n")
    if ON_GPU:
        return text
    assert first == "Simulated device: h200 (sizes are real, numbers are not)", text
    return rest


def check_whole_trace(lab: Lab, trace: Path, peak_bytes: int) -> dict[str, Any]:
    """Assert that a trace is complete, says torch's peak and has rows that sum to it."""
    table = lab.table(trace)
    assert (table["complete"], table["problems"]) == (True, [])
    assert table["peak_bytes"] == peak_bytes
    assert table["rows"][-1]["cumulative_bytes"] == sum(row["bytes"] for row in table["rows"])
    assert sum(row["bytes"] for row in table["rows"]) == peak_bytes
    assert table["records_dropped"] == 0
    return table


def table_rows(text: str) -> list[tuple[str, str]]:
    """Check the literal form of a printed table; return (size, location) of its rows."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if TABLE_LINES[0].fullmatch(line))
    for pattern, line in zip(TABLE_LINES, lines[start:], strict=False):
        assert pattern.fullmatch(line), line
    rows = []
    for line in lines[start + len(TABLE_LINES) :]:
        if not line or line == "...":
            break
        match = TABLE_ROW.fullmatch(line)
        assert match, f"not a row of the table: {line!r}"
        rows.append((match["mem"], match["location"]))
    return rows
