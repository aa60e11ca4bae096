"""A report as Markdown and as HTML, for notebooks, issues and chats.

Both are made of the engine's document, as the text is (document.py). Names in it come from the
recorded program: every text is escaped here, and only here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from peakline.text.code_lines import text_of_cell
from peakline.text.terminal import Marks

# Characters that begin or end something in Markdown; some do so only in an address, or at first.
_MARKS_OF_MARKDOWN = re.compile(r"([\\`*_{}\[\]#|~$@^>]|(?<=:)/(?=/)|(?<=[wW])\.|^[-+=!:])")
_NUMBER_OF_ITEM = re.compile(r"^(\d+)([.)])(?= |$)")
_HTML_OF_TONE = {
    "heading": "<h4>{}</h4>",
    "answer": "<p><b>{}</b></p>",
    "warning": '<p style="color: #b00020">{}</p>',
    "plain": "<p>{}</p>",
}
_MARKDOWN_OF_TONE = {"heading": "#### {}", "answer": "**{}**", "warning": "**{}**", "plain": "{}"}


def markdown_of(document: Mapping[str, Any]) -> str:
    """Return a document as Markdown, with tables as GitHub has them."""
    return "\n".join(_markdown_lines(document["elements"])).strip("\n") + "\n"


def html_of(document: Mapping[str, Any]) -> str:
    """Return a document as HTML that loads nothing and runs nothing."""
    return f"<div>\n{''.join(_html_parts(document['elements']))}</div>\n"


def _blocks(elements: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the elements that show something; verbatim lines that follow each other are one."""
    verbatim: list[str] = []
    for element in elements:
        if element.get("tone") == "verbatim":
            verbatim.append(element["text"])
            continue
        if verbatim:
            yield {"lines": verbatim}
            verbatim = []
        if "gap" not in element and not ("table" in element and not element["table"]["rows"]):
            yield element
    if verbatim:
        yield {"lines": verbatim}


def _cells(table: Mapping[str, Any]) -> Iterator[list[list[str]]]:
    """Yield the cells of each row, each as lines."""
    for row in table["rows"]:
        yield [_lines_of(cell) for cell in row["cells"]]


def _lines_of(cell: Any) -> list[str]:
    if isinstance(cell, Mapping) and "lines" in cell:
        return [line["text"] for line in cell["lines"]]
    return [text_of_cell(cell)]


def _left_out(table: Mapping[str, Any]) -> str:
    if not table["left_out"]:
        return ""
    count, things = table["left_out"]
    return f"... {count:,} {things}"


def _heads(table: Mapping[str, Any]) -> list[str]:
    return [" ".join(column["head"].split("\n")) for column in table["columns"]]


def _in_markdown(text: str) -> str:
    shown = _MARKS_OF_MARKDOWN.sub(r"\\\1", Marks.ascii().shown(text).strip())
    shown = _NUMBER_OF_ITEM.sub(r"\1\\\2", shown)
    return shown.replace("&", "&amp;").replace("<", "&lt;")


def _markdown_lines(elements: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for block in _blocks(elements):
        if "lines" in block:
            yield from (f"    {Marks.ascii().shown(line)}" for line in block["lines"])
        elif "facts" in block:
            yield from (
                f"- {_in_markdown(name)}: {_in_markdown(one)}" for name, one in block["facts"]
            )
        elif "table" in block:
            yield from _markdown_table(block["table"])
        elif text := _in_markdown(block["text"]):
            yield _MARKDOWN_OF_TONE[block["tone"]].format(text)
        yield ""


def _markdown_table(table: Mapping[str, Any]) -> Iterator[str]:
    rules = ["---:" if column["align"] == "right" else "---" for column in table["columns"]]
    rows = [[" <br> ".join(map(_in_markdown, cell)) for cell in row] for row in _cells(table)]
    for row in ([*map(_in_markdown, _heads(table))], rules, *rows):
        yield f"| {' | '.join(row)} |"
    if table["left_out"]:
        yield ""
        yield _in_markdown(_left_out(table))


def _in_html(text: str) -> str:
    return html.escape(Marks.ascii().shown(text))


def _html_parts(elements: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for block in _blocks(elements):
        if "lines" in block:
            lines = "\n".join(map(_in_html, block["lines"]))
            yield f"<pre>{lines}</pre>\n"
        elif "facts" in block:
            facts = (
                f"{_in_html(name)}: <b>{_in_html(value)}</b>" for name, value in block["facts"]
            )
            yield f"<p>{'<br>'.join(facts)}</p>\n"
        elif "table" in block:
            yield from _html_table(block["table"])
        elif block["text"].strip():
            yield _HTML_OF_TONE[block["tone"]].format(_in_html(block["text"])) + "\n"


def _html_table(table: Mapping[str, Any]) -> Iterator[str]:
    sides = ["right" if column["align"] == "right" else "left" for column in table["columns"]]

    def row_of(tag: str, cells: Sequence[str]) -> str:
        parts = (
            f'<{tag} style="text-align: {side}">{cell}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{''.join(parts)}</tr>\n"

    yield "<table>\n" + row_of("th", [*map(_in_html, _heads(table))])
    for row in _cells(table):
        yield row_of("td", ["<br>".join(map(_in_html, cell)) for cell in row])
    yield "</table>\n"
    if table["left_out"]:
        yield f"<p>{_in_html(_left_out(table))}</p>\n"
