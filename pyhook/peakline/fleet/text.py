"""Answers as text tables, with units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from peakline.base.output import printable
from peakline.base.sizes import size_of
from peakline.differences.text import columns as lines_of
from peakline.fleet.questions import Question, Shown
from peakline.runs.text import table_lines

_OF_TEXT = ("text", "run", "line")
_SHOWN_OF_RUN = 8  # digits, as in folder names; --json has all
_LEAST_ROOM = 30  # columns for the last column; other columns are left out to keep it


def answer_text(
    question: Question,
    rows: Sequence[dict[str, Any]],
    width: int,
    shorten: Callable[[str, int], str],
) -> list[str]:
    """Return the lines of the answer to a named question.

    Args:
        question: the question.
        rows: the answer, at least one row.
        width: columns of the terminal; 0: no terminal, nothing is left out.
        shorten: cuts the last column to the space behind the given number of columns.
    """
    shown = _fitting(question.columns, rows, width)
    cells = [[_cell(column, row) for column in shown] for row in rows]
    lines = table_lines(
        [column.head for column in shown],
        [one[:-1] for one in cells],
        (one[-1] for one in cells),
        shorten,
        _left(shown),
    )
    return [line.rstrip() for line in lines]


def rows_text(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of the answer to SQL; columns named ...bytes have units."""
    shown = [Shown(name, name, _kind_of(name, rows)) for name in (rows[0] if rows else ())]
    if not shown:
        return []
    cells = [[_cell(column, row) for column in shown] for row in rows]
    lines = lines_of([[column.head for column in shown], *cells], _left(shown))
    return [line.rstrip() for line in lines]


def _left(columns: Sequence[Shown]) -> list[int]:
    return [number for number, column in enumerate(columns) if column.kind in _OF_TEXT]


def _fitting(
    columns: Sequence[Shown], rows: Sequence[dict[str, Any]], width: int
) -> Sequence[Shown]:
    """Return the columns that leave room for the last one; drops optional ones from the right."""
    widths = {
        column: max(len(column.head), *(len(_cell(column, row)) for row in rows))
        for column in columns
    }
    kept = list(columns)
    least = min(_LEAST_ROOM, widths[kept[-1]])
    while width and sum(widths[one] + 2 for one in kept[:-1]) + least > width:
        may_go = [one for one in kept if one.may_go]
        if not may_go:
            break
        kept.remove(may_go[-1])
    return kept


def _kind_of(name: str, rows: Sequence[dict[str, Any]]) -> str:
    values = [row[name] for row in rows if row[name] is not None]
    is_number = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)
    if not values or not is_number:
        return "text"
    return "bytes" if name == "bytes" or name.endswith("_bytes") else "number"


def _cell(column: Shown, row: dict[str, Any]) -> str:
    return printable(_text(column, row))


def _text(column: Shown, row: dict[str, Any]) -> str:
    if column.kind == "line":
        return _line(row)
    value = row[column.name]
    if value is None:
        return "-"
    if column.kind == "bytes":
        return size_of(value)
    if column.kind == "more":
        return ("+" if value > 0 else "") + size_of(value)
    if column.kind == "share":
        return f"{100 * value:.1f}"
    if column.kind == "gb_hours":
        return f"{value:,.1f} GB h" if value >= 10 else f"{value:.3g} GB h"
    if column.kind == "run":
        return str(value)[:_SHOWN_OF_RUN]
    if column.kind == "count" or (column.kind == "number" and isinstance(value, int)):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _line(row: dict[str, Any]) -> str:
    if not row["file"]:
        return str(row["function"] or "-")
    number = f":{row['line']}" if row["line"] else ""
    return f"{row['file']}{number} ({row['function']})"
