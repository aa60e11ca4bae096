"""`table` and `summary` on a terminal: columns, colours, no line longer than the terminal.

The engine gives every text (`Trace.parts`); here they are laid out. Colours are those that can be
read on black and on white.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from peakline.terminal.code_lines import fitted, line_of_row
from peakline.terminal.terminal import Marks, Terminal, cells
from peakline.terminal.tree import tree_rows

_GAP = 2  # columns between two cells
_LEAST_ROOM = 40  # of the last column: with less, columns of numbers are left out
_HEAVY_SHARE, _LARGE_SHARE = 0.25, 0.05


@dataclass(frozen=True)
class Column:
    """A column of numbers: its head, the field of its texts, and its colour."""

    head: str
    field: str
    style: str = ""


HELD = Column("Held", "held")
PERCENT = Column("%", "percent")
RUNNING = Column("Running\ntotal", "running_total", "dim")
TYPICAL = Column("Typical\nblock", "typical_block")
BLOCKS = Column("Blocks", "blocks")
_OF_TABLE = (HELD, PERCENT, RUNNING, TYPICAL, BLOCKS)
_OF_SUMMARY = (HELD, PERCENT)
_OF_TREE = (HELD, PERCENT, BLOCKS)
# Where the terminal is narrow the first of these goes first.
_LEFT_OUT_FIRST = (TYPICAL, RUNNING, BLOCKS)


def show_parts(name: str, parts: Mapping[str, Any], terminal: Terminal, more_command: str) -> None:
    """Print the report of this name; `more_command` shows the rows that are left out."""
    _show_notes(parts["head"], terminal)
    if name == "summary":
        _show_list_of_facts(parts["facts"], terminal)
    else:
        _show_facts(parts["facts"], terminal)
    _show_notes(parts["selected"], terminal)
    terminal.console.print()
    if parts["title"]:
        terminal.console.print(Text(parts["title"], "bold"))
    # Of two keys only one is a stack: rows have both.
    is_tree = parts["tree"] is not None and "," not in parts["by"]
    if is_tree:
        rows = tree_rows(parts["tree"], terminal.marks)
    else:
        rows = [{**row, "code": line_of_row(row)} for row in parts["rows"]]
    columns = _OF_SUMMARY if name == "summary" else _OF_TREE if is_tree else _OF_TABLE
    _show_rows(rows, columns, _head_of(parts["by"]), terminal)
    left_out = parts["left_out"]
    if left_out and name != "summary":
        _show_left_out(left_out, more_command, terminal)
    if any(note["text"] for note in parts["notes"]):
        terminal.console.print()
        _show_notes(parts["notes"], terminal)


def _head_of(by: str) -> str:
    return by.replace("-", " ").replace(",", ", ").capitalize()


def _show_left_out(count: int, command: str, terminal: Terminal) -> None:
    """Name the command on a line of its own where it is long: it is there to be copied."""
    text = f"{count:,} more row{'s' * (count != 1)}"
    if command:
        fits = cells(text) + cells(command) + 2 <= terminal.width
        text += (": " if fits else ":\n") + terminal.marks.shown(command)
    terminal.console.print(Text(text), soft_wrap=True)


def _show_rows(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], head: str, terminal: Terminal
) -> None:
    columns, room = _fitting(rows, columns, terminal.width)
    widths = [_width_of(column, rows) for column in columns]
    heads = [column.head.split("\n") for column in columns] + [[head]]
    for line in range(-max(map(len, heads)), 0):
        texts = [Text(one[line] if len(one) >= -line else "", "bold") for one in heads]
        _show_row(texts, widths, terminal)
    for row in rows:
        numbers = [Text(row[column.field], _style_of(column, row)) for column in columns]
        _show_row([*numbers, _last_cell(row, room, terminal.marks)], widths, terminal)


def _show_row(texts: Sequence[Text], widths: Sequence[int], terminal: Terminal) -> None:
    line = Text()
    for text, width in zip(texts[:-1], widths, strict=True):
        line.append(" " * (width - text.cell_len)).append_text(text).append(" " * _GAP)
    line.append_text(texts[-1])
    line.rstrip()
    terminal.console.print(line, soft_wrap=True)


def _width_of(column: Column, rows: Sequence[Mapping[str, Any]]) -> int:
    return max(map(cells, [*column.head.split("\n"), *(row[column.field] for row in rows)]))


def _fitting(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], width: int
) -> tuple[list[Column], int]:
    """Return the columns that leave enough room for the last one, and that room."""
    kept = list(columns)

    def room() -> int:
        return width - sum(_width_of(column, rows) + _GAP for column in kept)

    longest = max((row["code"].columns + cells(row.get("guide", "")) for row in rows), default=0)
    for column in _LEFT_OUT_FIRST:
        if room() < min(_LEAST_ROOM, longest) and column in kept:
            kept.remove(column)
    return kept, max(room(), 1)


def _last_cell(row: Mapping[str, Any], room: int, marks: Marks) -> Text:
    guide = row.get("guide", "")[-(room // 2) :]
    text = Text(guide, "dim", no_wrap=True)
    if row.get("dim"):
        return text.append(fitted(row["code"], room - len(guide), marks).plain, "dim")
    return Text.assemble(text, fitted(row["code"], room - len(guide), marks))


def _style_of(column: Column, row: Mapping[str, Any]) -> str:
    if column is not HELD:
        return column.style
    share = row["share"]
    return "bold red" if share >= _HEAVY_SHARE else "bold" if share >= _LARGE_SHARE else ""


def _show_facts(facts: Sequence[Mapping[str, str]], terminal: Terminal) -> None:
    line = Text()
    for fact in facts:
        line.append("   " if line else "").append(f"{fact['name']}: ", "dim")
        line.append(fact["value"], "bold")
    _show_wrapped(line, 0, terminal)


def _show_list_of_facts(facts: Sequence[Mapping[str, str]], terminal: Terminal) -> None:
    known = [fact for fact in facts if fact["value"]]
    indent = max(cells(fact["name"]) for fact in known) + 1 + _GAP
    for fact in known:
        name = Text(f"{fact['name']}:".ljust(indent), "dim")
        _show_wrapped(Text(terminal.marks.shown(fact["value"])), indent, terminal, name)


def _show_notes(notes: Sequence[Mapping[str, Any]], terminal: Terminal) -> None:
    """Print sentences; what is indented stays so."""
    for note in notes:
        for line in note["text"].strip("\n").split("\n"):
            text = Text(terminal.marks.shown(line.strip()), "red" if note["is_warning"] else "")
            _show_wrapped(text, len(line) - len(line.lstrip()), terminal)


def _show_wrapped(text: Text, indent: int, terminal: Terminal, before: Text | None = None) -> None:
    """Print a text wrapped at words, below each other at the indent; `before` stands in it."""
    start = before or Text(" " * indent)
    for line in text.wrap(terminal.console, max(terminal.width - indent, 1)) or [Text()]:
        line.rstrip()
        terminal.console.print(start + line, soft_wrap=True)
        start = Text(" " * indent)
