"""Bytes as people read them: as the tables of the report engine and the page write them."""

from __future__ import annotations

import re
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


def share_of(part: int, whole: int) -> str:
    """Return a share in percent; small ones have a digit more."""
    share = part / whole if whole else 0.0
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{share * 100:.0f} %" if share >= 0.0995 or share == 0 else f"{share * 100:.1f} %"


def median_of(sizes: Iterable[int]) -> int:
    """Return the size in the middle; of an even count the mean of two, rounded down; of none 0."""
    found = list(sizes)
    return (median_low(found) + median_high(found)) // 2 if found else 0


def bytes_of(text: str) -> int:
    """Return the bytes of "512", "64K" or "1.5 MiB".

    Raises:
        ValueError: the text is no size.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"'{text}' is not a size: 512, 64K, 1.5MiB ...")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))
