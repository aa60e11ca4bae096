"""Bytes as people read them: as the tables of the report engine and the page write them."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median_high, median_low

_UNITS = ("KB", "MB", "GB", "TB")
_MOST = 10_000  # four digits


def size_of(count: float) -> str:
    """Return four digits and a unit of 1024; below 1 KB whole bytes: "8.040 GB", "512 B"."""
    whole = round(count)
    if whole < 0:
        return "-" + size_of(-whole)
    if whole < 1024:
        return f"{whole} B"
    for power, unit in enumerate(_UNITS, 1):
        # Of each number of digits behind the point: how many units of the last one, half up.
        rounded = [(2 * whole * 10**digits >> 10 * power) + 1 >> 1 for digits in range(4)]
        digits = next((digits for digits in (3, 2, 1) if rounded[digits] < _MOST), 0)
        if digits > 0 or rounded[0] < 1024 or unit == _UNITS[-1]:
            break
    return f"{rounded[digits] / 10**digits:.{digits}f} {unit}"


def size_or_unknown(count: int | None) -> str:
    """Return the same, and "?" of what is not known."""
    return "?" if count is None else size_of(count)


def median_of(sizes: Iterable[int]) -> int:
    """Return the size in the middle; of an even count the mean of two, rounded down; of none 0."""
    found = list(sizes)
    return (median_low(found) + median_high(found)) // 2 if found else 0
