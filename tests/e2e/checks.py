"""What several tests ask of a table, beside the number they came for."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from lab import ON_GPU


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


def upper_median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


def without_device(text: str) -> str:
    """A report without its first line, which on the simulated GPU says so, and names it."""
    first, _, rest = text.partition("\n")
    if ON_GPU:
        return text
    assert first == "Simulated device: h200 (sizes are real, numbers are not)", text
    return rest
