"""Formats bytes for people, as the tables of the report engine and the page do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import median_high, median_low

_UNITS = ("KB", "MB", "GB", "TB")
_MOST = 10_000  # the first number with more than four digits


def size_of(count: float) -> str:
    """Return bytes with four digits and a unit of 1024; below 1 KB, whole: "8.040 GB", "512 B"."""
    whole = round(count)
    if whole < 0:
        return "-" + size_of(-whole)
    if whole < 1024:
        return f"{whole} B"
    for power, unit in enumerate(_UNITS, 1):
        # For each number of decimals: the size in units of the last digit, rounded half up.
        rounded = [(2 * whole * 10**digits >> 10 * power) + 1 >> 1 for digits in range(4)]
        digits = next((digits for digits in (3, 2, 1) if rounded[digits] < _MOST), 0)
        if digits > 0 or rounded[0] < 1024 or unit == _UNITS[-1]:
            break
    return f"{rounded[digits] / 10**digits:.{digits}f} {unit}"


def size_or_unknown(count: int | None) -> str:
    """Return the size, or "?" if it is unknown."""
    return "?" if count is None else size_of(count)


def share_of(part: int, whole: int) -> str:
    """Return a share in percent; small shares have one more digit."""
    share = part / whole if whole else 0.0
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{share * 100:.0f} %" if share >= 0.0995 or share == 0 else f"{share * 100:.1f} %"


def median_of(sizes: Iterable[int]) -> int:
    """Return the median; the mean of the middle two for an even count, rounded down; 0 for none."""
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


def least_size_above(count: int) -> str:
    """Return the smallest size of four digits that `bytes_of` reads as `count` bytes or more."""
    power = next((one for one in (4, 3, 2, 1) if count >= 1024**one), 0)
    if power == 0:
        return f"{count}B"
    digits = max(4 - len(str(count >> 10 * power)), 0)
    scaled = -(-count * 10**digits >> 10 * power)
    while bytes_of(text := f"{scaled / 10**digits:.{digits}f}{_UNITS[power - 1]}") < count:
        scaled += 1  # binary fractions are not exact
    return text
