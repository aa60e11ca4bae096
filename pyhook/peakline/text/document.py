"""Lays out a report in lines: the same for a terminal, a pipe and a file.

The engine gives a document: sentences, facts and tables of finished texts (report/render/document).
This module arranges them in columns. A line is a list of pieces, each a text and its style; rich is
loaded only to colour them on a terminal. All colours are readable on black and on white.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from peakline.base.output import write_report
from peakline.text.code_lines import CodeLine, code_of, fitted, line_of_cell, text_of_cell
from peakline.text.terminal import Marks, Terminal, cells, cut_end, cut_middle
from peakline.text.tree import tree_table

Piece = tuple[str, str]
Line = list[Piece]

_GAP = 2  # columns between two cells
_FACT_GAP = 3  # behind the names of facts in a list
_LEAST_ROOM = 40  # of the last column: with less, columns of numbers are left out
_CODE_OF_TREE = 32  # columns for code behind the lines of a tree
_LEAST_WIDTH = 12  # of a shortened column
_HEAVY_SHARE, _LARGE_SHARE = 0.25, 0.05
_STYLES = {"heading": "bold", "warning": "red", "answer": "bold", "plain": ""}
_ENDLESS = 1 << 20
_ASCII_BLOCKS = str.maketrans("▁▂▃▄▅▆▇█", "..::==##")
_PAGE = 80  # width of wrapped text where lines have no limit
_LEAST_WRAPPED = 40


@dataclass(frozen=True)
class Layout:
    """The width of lines (0: no limit), and the text shown instead of omitted rows."""

    width: int = 0
    marks: Marks = field(default_factory=Marks.ascii)
    is_terminal: bool = False
    more_command: str = ""

    @property
    def room(self) -> int:
        """Columns of a line."""
        return self.width or _ENDLESS


def table_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first table of a document."""
    return next(dict(one["table"]) for one in document["elements"] if "table" in one)


def facts_of(document: Mapping[str, Any]) -> list[list[str]]:
    """Return the names and values of the first facts of a document."""
    return next(list(one["facts"]) for one in document["elements"] if "facts" in one)


def plain_text(document: Mapping[str, Any], layout: Layout | None = None) -> str:
    """Return the report as text without styles; a literal table in its literal form."""
    layout = layout or Layout()
    lines = document_lines(document, layout)
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def write_document(
    document: Mapping[str, Any], stream: TextIO, terminal: Terminal | None, more_command: str = ""
) -> None:
    """Write a report to a stream; `terminal` is the stream if it is one."""
    if terminal is not None:
        print_document(document, terminal, more_command)
    else:
        write_report(_drawn_for(plain_text(document), stream), stream)


def _drawn_for(text: str, stream: TextIO) -> str:
    """Draw charts with ASCII if the stream lacks block characters."""
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_ASCII_BLOCKS)
    return text


def print_document(document: Mapping[str, Any], terminal: Terminal, more_command: str = "") -> None:
    """Print the report on a terminal."""
    from rich.text import Text

    layout = Layout(terminal.width, terminal.marks, True, more_command)
    for line in document_lines(document, layout):
        text = Text.assemble(*line)
        text.rstrip()
        terminal.console.print(text, soft_wrap=True)


def document_lines(document: Mapping[str, Any], layout: Layout) -> Iterator[Line]:
    """Yield the lines of a document."""
    was_gap = False
    for element in document["elements"]:
        if "gap" in element:
            was_gap = layout.is_terminal
            continue
        lines = list(_element(element, layout))
        if was_gap and lines:
            yield []
        was_gap = was_gap and not lines
        yield from lines


def _element(element: Mapping[str, Any], layout: Layout) -> Iterator[Line]:
    if "text" not in element:
        if "facts" in element:
            yield from _facts(element["facts"], element["is_list"], layout)
        elif element["table"]["rows"]:
            yield from _table(element["table"], layout)
    elif element["tone"] == "verbatim":
        yield [(element["text"], "")]
    else:
        yield from _sentence(element["text"], _STYLES[element["tone"]], layout)


def _sentence(text: str, style: str, layout: Layout) -> Iterator[Line]:
    """Yield the lines of a sentence, wrapped at words; an indent stays."""
    words = text.lstrip()
    indent = len(text) - len(words)
    for line in _wrapped(layout.marks.shown(words), layout.room - indent):
        yield [(" " * indent, ""), (line, style)]


def _wrapped(text: str, room: int) -> list[str]:
    """Return lines of whole words; a word that is longer than a line is broken."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(joined) <= room:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        while cells(word) > room > 0:
            lines[-1] = cut_end(word, room, "") or word[0]
            word = word[len(lines[-1]) :]
            lines.append("")
        lines[-1] = word
    return lines


def _facts(facts: Sequence[Sequence[str]], is_list: bool, layout: Layout) -> Iterator[Line]:
    indent = max((cells(name) for name, _ in facts), default=0) + 1 + _FACT_GAP
    if is_list:
        for name, value in facts:
            start = f"{name}:".ljust(indent)
            for line in _wrapped(layout.marks.shown(value), layout.room - indent):
                yield [(start, "dim"), (line, "")]
                start = " " * indent
    elif layout.is_terminal:
        shown: Line = []
        for name, value in facts:
            fact = [("   " if shown else "", ""), (f"{name}: ", "dim"), (value, "bold")]
            if shown and sum(cells(text) for text, _ in [*shown, *fact]) > layout.room:
                yield shown
                shown = []
            shown += fact if shown else fact[1:]
        yield shown
    else:
        yield from ([(f"{name}: {value}", "")] for name, value in facts)


def _table(table: Mapping[str, Any], layout: Layout) -> Iterator[Line]:
    if table.get("literal") and not layout.is_terminal:
        yield from _literal(table)
        return
    if layout.is_terminal and "tree" in table and "," not in table["columns"][-1]["head"]:
        table = tree_table(table, layout.marks)
    shown = _fitting(table, layout)
    if layout.is_terminal and any("guide" in row for row in table["rows"]):
        left = layout.room - table["indent"] - _total(shown[:-1]) - 2 * _GAP - _CODE_OF_TREE
        shown[-1] = replace(shown[-1], width=max(_LEAST_ROOM, min(shown[-1].width, left)))
    yield from _heads(shown, table["indent"])
    for row in table["rows"]:
        yield from _row(row, shown, table["indent"], layout)
    if table["left_out"]:
        yield from _left_out(table, layout)


def _left_out(table: Mapping[str, Any], layout: Layout) -> Iterator[Line]:
    """Yield the note on omitted rows; a long command gets its own line for copying."""
    count, things = table["left_out"]
    if not layout.more_command:
        yield [(" " * table["indent"] + f"... {count:,} {things} (--top 0)", "")]
        return
    text, command = f"{count:,} {things}:", layout.marks.shown(layout.more_command)
    if cells(text) + cells(command) + 1 <= layout.room:
        yield [(f"{text} {command}", "")]
    else:
        yield [(text, "")]
        yield [(command, "")]


def _literal(table: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the form of the reference tool: a line of heads, then cells two spaces apart."""
    yield [(table["literal"], "")]
    columns = [number for number, one in enumerate(table["columns"]) if one["is_literal"]]
    for row in table["rows"]:
        yield [("  ".join(text_of_cell(row["cells"][number]) for number in columns), "")]
    if table["left_out"]:
        yield [("...", "")]


@dataclass(frozen=True)
class _Column:
    number: int
    head: list[str]
    align: str
    spare: int
    width: int


def _fitting(table: Mapping[str, Any], layout: Layout) -> list[_Column]:
    """Return the shown columns, with widths that fit as far as possible.

    Spare columns of numbers are dropped first, then the widest text is shortened.
    """
    columns = [
        _Column(
            number,
            one["head"].split("\n"),
            one["align"],
            one["spare"],
            _natural(table, number, one, layout),
        )
        for number, one in enumerate(table["columns"])
    ]
    room = layout.room - table["indent"]
    if columns[-1].align == "wrapped":
        page = layout.width or _PAGE
        width = max(page - _total(columns[:-1]) - _GAP, _LEAST_WRAPPED)
        columns[-1] = replace(columns[-1], width=min(columns[-1].width, width))
    for column in sorted(columns, key=lambda one: one.spare):
        if column.spare and _lacks_room(columns, column, room):
            columns.remove(column)
    while _total(columns) > room:
        loose = [one for one in columns if one.align == "left" and one.width > _LEAST_WIDTH]
        if not loose:
            break
        widest = max(loose, key=lambda one: one.width)
        others = [one.width for one in loose if one is not widest]
        least = max([_LEAST_WIDTH, *(width for width in others if width < widest.width)])
        width = max(least, widest.width - (_total(columns) - room), _LEAST_WIDTH)
        width = width if width < widest.width else widest.width - 1
        columns = [replace(one, width=width) if one is widest else one for one in columns]
    return columns


def _lacks_room(columns: Sequence[_Column], spare: _Column, room: int) -> bool:
    """Return whether to drop a column: a text if not all fit, a number if the last lacks room."""
    if spare.align == "left":
        return _total(columns) > room
    left = room - _total(columns[:-1]) - _GAP
    return left < min(_LEAST_ROOM, columns[-1].width)


def _total(columns: Sequence[_Column]) -> int:
    return sum(one.width for one in columns) + _GAP * (len(columns) - 1)


def _natural(
    table: Mapping[str, Any], number: int, column: Mapping[str, Any], layout: Layout
) -> int:
    """Return the width of the widest cell."""
    widest = max(cells(head) for head in column["head"].split("\n"))
    for row in table["rows"]:
        guide = cells(row.get("guide", "")) if number == len(row["cells"]) - 1 else 0
        widest = max(widest, _columns_of(row["cells"][number], layout) + guide)
    return widest


def _columns_of(cell: Any, layout: Layout) -> int:
    if _is_list(cell):
        return max(cells(line["text"]) for line in cell["lines"])
    is_line = layout.is_terminal and not isinstance(cell, str)
    return line_of_cell(cell).columns if is_line else cells(text_of_cell(cell))


def _heads(columns: Sequence[_Column], indent: int) -> Iterator[Line]:
    if not any(any(column.head) for column in columns):
        return
    height = max(len(column.head) for column in columns)
    for row in range(-height, 0):
        texts = [one.head[row] if len(one.head) >= -row else "" for one in columns]
        pieces = [[(text, "bold")] for text in texts]
        yield _joined(pieces, columns, indent)


def _row(
    row: Mapping[str, Any], columns: Sequence[_Column], indent: int, layout: Layout
) -> Iterator[Line]:
    parts = [_cell(row, column, layout) for column in columns]
    last = row["cells"][columns[-1].number]
    has_code = layout.is_terminal and not isinstance(last, str) and not _is_list(last)
    code = line_of_cell(last) if has_code else CodeLine()
    if "guide" in row:  # of a tree: behind its line
        used = sum(cells(text) for text, _ in parts[-1][0])
        room = layout.room - indent - _total(columns[:-1]) - used - 2 * _GAP
        parts[-1][0] += [(" " * _GAP, ""), *code_of(code, room, layout.marks)]
    for number in range(max(map(len, parts))):
        yield _joined([one[number] if number < len(one) else [] for one in parts], columns, indent)
    if "guide" not in row:
        begin = indent + columns[0].width + _GAP
        pieces = code_of(code, layout.room - begin, layout.marks)
        yield from [[(" " * begin, ""), *pieces]] if pieces else []


def _is_list(cell: Any) -> bool:
    """Return whether a cell has several lines of text, not one line of code."""
    return isinstance(cell, Mapping) and "lines" in cell


def _cell(row: Mapping[str, Any], column: _Column, layout: Layout) -> list[Line]:
    """Return the lines of a cell."""
    cell = row["cells"][column.number]
    style = "dim" if row.get("is_dim") else _style_of(row, column)
    if _is_list(cell):
        return [[(line, style)] for line in _wrapped_lines(cell["lines"], column.width, layout)]
    if layout.is_terminal and not isinstance(cell, str):
        guide = row.get("guide", "")[-(column.width // 2) :]
        pieces = fitted(line_of_cell(cell), column.width - len(guide), layout.marks)
        pieces = [(text, "dim") for text, _ in pieces] if row.get("is_dim") else pieces
        return [[(guide, "dim"), *pieces]]
    text = layout.marks.shown(text_of_cell(cell))
    if column.align == "left":
        text = cut_middle(text, column.width, layout.marks.gap)
    return [[(text, style)]]


def _wrapped_lines(lines: Sequence[Mapping[str, Any]], width: int, layout: Layout) -> Iterator[str]:
    for line in lines:
        text = layout.marks.shown(line["text"])
        yield from [text] if line["is_whole"] else _wrapped(text, width)


def _style_of(row: Mapping[str, Any], column: _Column) -> str:
    share = row.get("share", 0.0)
    if column.number != 0 or share < _LARGE_SHARE:
        return ""
    return "bold red" if share >= _HEAVY_SHARE else "bold"


def _joined(parts: Sequence[Line], columns: Sequence[_Column], indent: int) -> Line:
    line: Line = [(" " * indent, "")]
    for part, column in zip(parts, columns, strict=True):
        space = " " * max(column.width - sum(cells(text) for text, _ in part), 0)
        before = " " * (_GAP * (column is not columns[0]))
        if column.align == "right":
            line += [(before + space, ""), *part]
        else:
            line += [(before, ""), *part, (space, "")]
    return line
