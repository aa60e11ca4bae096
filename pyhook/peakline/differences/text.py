"""Differences as text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from peakline.base.sizes import size_of
from peakline.differences.compare import Comparison, Difference
from peakline.differences.side import Side


def comparison_text(
    comparison: Comparison, what: str, top: int, shorten: Callable[[str, int], str]
) -> list[str]:
    """Return the lines of the table of a comparison.

    Args:
        comparison: two runs.
        what: the compared quantity: "peak", "end", "allocated in all".
        top: number of shown rows; 0: all that differ.
        shorten: cuts a location to the space behind the given number of columns.
    """
    before, after = comparison.before.total_bytes, comparison.after.total_bytes
    lines = [f"{what}: {size_of(before)} before, {size_of(after)} after: {_total(comparison)}"]
    lines += too_low_lines(comparison.before, comparison.after)
    changed = comparison.changed
    shown = changed[:top] if top else changed
    if shown:
        lines += _rows(shown, shorten)
    return [*lines, *_rest(comparison, len(changed) - len(shown))]


def too_low_lines(*sides: Side) -> list[str]:
    """Return a line for each run that read sizes as zero on a simulated GPU."""
    return list(dict.fromkeys(f"{one.name}: {one.too_low}" for one in sides if one.too_low))


def signed(size: int) -> str:
    """Return bytes with their sign: "+1.500 GB", "-512 B", "0 B"."""
    return ("+" if size > 0 else "") + size_of(size)


def columns(rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """Return lines of cells in columns as wide as needed, right-aligned except for `left`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _total(comparison: Comparison) -> str:
    delta = comparison.delta_bytes
    if delta == 0:
        return "the same"
    before = comparison.before.total_bytes
    share = f" ({delta / before:+.1%})" if before else ""
    return signed(delta) + share


def _rows(rows: list[Difference], shorten: Callable[[str, int], str]) -> list[str]:
    cells = [
        (
            signed(row.delta_bytes),
            size_of(row.bytes_before) if row.before else "-",
            size_of(row.bytes_after) if row.after else "-",
            _location_lines(row),
        )
        for row in rows
    ]
    heads = ("Change", "Before", "After", ["Location"])
    rows_of_text = (heads, *cells)
    lines = []
    for cell, numbers in zip(rows_of_text, columns([one[:3] for one in rows_of_text]), strict=True):
        location = cell[3]
        lines.append(f"{numbers}  {shorten(location[0], len(numbers) + 2)}")
        lines += [" " * (len(numbers) + 4) + one for one in location[1:]]
    return lines


def _location_lines(row: Difference) -> list[str]:
    why = [row.why] if row.why else []
    if not row.at.is_line_of_file or not row.has_moved or row.before is None:
        return row.at.key.split(" <- ") + why  # a stack has a line per frame
    was, is_now = row.before.at, row.at
    if was.file == is_now.file:
        return [f"{is_now.key} [was line {was.line}]", *why]
    return [f"{is_now.key} [was {Path(was.file).name}:{was.line}]", *why]


def _rest(comparison: Comparison, hidden: int) -> list[str]:
    same = len(comparison.rows) - len(comparison.changed)
    moved = sum(row.has_moved for row in comparison.rows)
    parts = []
    if hidden:
        rows = "row differs" if hidden == 1 else "rows differ"
        parts.append(f"{hidden} more {rows} (--top 0 shows them)")
    if same:
        parts.append(f"{same} {'row is' if same == 1 else 'rows are'} the same")
    if moved:
        parts.append(f"{moved} {'stands' if moved == 1 else 'stand'} on another line than before")
    return ["; ".join(parts) + "."] if parts else []
