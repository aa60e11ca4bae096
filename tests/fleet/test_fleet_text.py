"""Answers as text: whole in a pipe, and no line longer than a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from expected import asked_and_expected
from peakline.base.next_commands import shortened
from peakline.fleet.questions import QUESTIONS
from peakline.fleet.text import answer_text, rows_text
from synthetic import Size, make_fleet

ROWS = {name: rows for name, _, rows in asked_and_expected(make_fleet(1, Size(runs=30)))}


def text_of(name: str, width: int) -> list[str]:
    def shorten(text: str, used: int) -> str:
        return shortened(text, width - used if width else 0)

    return answer_text(QUESTIONS[name], ROWS[name], width, shorten)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_pipe_gets_every_column_of_every_row(name: str) -> None:
    head, *lines = text_of(name, 0)
    columns = QUESTIONS[name].columns
    assert [word for one in columns for word in one.head.split()] == head.split()
    texts = [one.name for one in columns if one.kind == "text"]
    texts += ["file", "function"] if columns[-1].kind == "line" else []
    assert len(lines) == len(ROWS[name])
    for line, row in zip(lines, ROWS[name], strict=True):
        assert all((row[text] or "-") in line for text in texts)
        assert row.get("run_id", "")[:8] in line


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_line_is_longer_than_the_terminal(name: str, width: int) -> None:
    head, *lines = text_of(name, width)
    assert all(len(line) <= width for line in (head, *lines))
    assert len(lines) == len(ROWS[name])
    stay = [one.head for one in QUESTIONS[name].columns if not one.may_go]
    assert all(one in head for one in stay)


def test_rows_of_sql_have_units_and_nothing_that_a_terminal_obeys() -> None:
    rows: list[dict[str, Any]] = [
        {"name": "a\x1b[31mb", "peak_bytes": 3 << 30, "ranks": 12345, "share": 0.123456789},
        {"name": None, "peak_bytes": None, "ranks": 7, "share": 2.0},
    ]
    assert rows_text(rows) == [
        "name     peak_bytes   ranks     share",
        "a?[31mb    3.000 GB  12,345  0.123457",
        "-                 -       7         2",
    ]
    assert rows_text([]) == []
