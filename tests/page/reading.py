"""What tests read from a shown page."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from shown import Shown

# "N bytes" of every row of the table of lines, by its text.
ROWS = """() => [...document.querySelectorAll("#lines tbody tr")].map((row) =>
    [row.querySelector(".place").firstChild.textContent, row.cells[0].title,
     row.cells[3].textContent])"""


def number_of(text: str) -> int:
    return int(text.replace(",", "").removesuffix(" bytes"))


def lines_shown(shown: Shown) -> list[tuple[str, int, int]]:
    """Text, bytes and blocks of the rows of the tab of lines."""
    return [
        (text, number_of(size), number_of(count)) for text, size, count in shown.page.evaluate(ROWS)
    ]


def press(shown: Shown, tab: str, text: str) -> None:
    """One of the choices of a tab."""
    shown.click(f'#{tab} .choice button:text-is("{text}")')


def column_of(page: dict[str, Any], data: bytes, name: str) -> list[int]:
    """The numbers of a column of a page, as the table of page_columns.h says they are coded."""
    at = 0
    for column in page["columns"]:
        count, width = column["count"], column["width"]
        if column["name"] == name:
            planes = data[at : at + count * width]
            numbers = [
                sum(planes[p * count + i] << (8 * p) for p in range(width)) for i in range(count)
            ]
            if column["coding"] == "plain":
                return numbers
            signed = [-(one + 1) // 2 if one % 2 else one // 2 for one in numbers]
            return list(accumulate(signed)) if column["coding"] == "delta" else signed
        at += count * width
    raise KeyError(name)
