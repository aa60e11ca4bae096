"""Answers as tables of text, with units; rich is loaded only here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from peakline.fleet.questions import Question, Shown
from peakline.sizes import size_of

_OF_TEXT = ("text", "run", "line")
_SHOWN_OF_RUN = 12  # digits; --json has all
_COLUMNS_OF_A_PIPE = 10_000  # nothing is cut there


def print_answer(question: Question, rows: Sequence[dict[str, Any]]) -> None:
    """Print the answer to a named question."""
    _print_table(question.columns, rows)


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Print the answer to SQL: columns whose name ends with bytes have units."""
    names = list(rows[0]) if rows else []
    _print_table([Shown(name, name, _kind_of(name, rows)) for name in names], rows)


def _kind_of(name: str, rows: Sequence[dict[str, Any]]) -> str:
    values = [row[name] for row in rows if row[name] is not None]
    is_number = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)
    if not values or not is_number:
        return "text"
    return "bytes" if name == "bytes" or name.endswith("_bytes") else "number"


def _print_table(columns: Sequence[Shown], rows: Sequence[dict[str, Any]]) -> None:
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else _COLUMNS_OF_A_PIPE, highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        is_text = column.kind in _OF_TEXT
        table.add_column(
            column.head,
            justify="left" if is_text else "right",
            no_wrap=not is_text or column.kind == "run",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(_printable(_cell(column, row))) for column in columns))
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _cell(column: Shown, row: dict[str, Any]) -> str:
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


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)
