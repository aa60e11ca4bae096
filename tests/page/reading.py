"""What tests read from a shown page."""

from __future__ import annotations

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
    shown.page.click(f'#{tab} .choice button:text-is("{text}")')
    shown.drawn()
