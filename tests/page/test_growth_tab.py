"""The tab of growth: its line, its rows and its verdict against `table --at` and `leaks --json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import peakline._report as engine
from lab import Lab, Run
from peakline.pages.data import read_page
from reading import press
from shown import Shown

Show = Callable[..., Shown]

ROWS = """() => [...document.querySelectorAll("#growth table:not(.found) tbody tr")].map((row) =>
    [row.querySelector(".place").firstChild.textContent, row.cells[0].title])"""
LEVELS = """() => [...document.querySelectorAll("#growth .lead [data-bytes]")].map((one) =>
    Number(one.dataset.bytes))"""


def signed_number(text: str) -> int:
    return int(text.replace("\u2212", "-").replace(",", "").removesuffix(" bytes"))


def rows_at(lab: Lab, run: Run, seconds: float, by: str) -> dict[str, int]:
    """The rows just before the event that ends a step; ticks are 128 ns."""
    said = lab.table(run.trace, "--by", by, "--at", repr(seconds - 1.28e-7))
    return {row["key"]: row["bytes"] for row in said["rows"]}


def differences(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    rows = {key: after.get(key, 0) - before.get(key, 0) for key in {*before, *after}}
    return {key: size for key, size in rows.items() if size}


def test_rows_between_two_steps_are_the_difference_of_two_tables(
    show: Show, lab: Lab, run: Run
) -> None:
    page = read_page(engine.Trace(str(run.trace)))
    ends = page.columns["growth_tick"] * float(page.names["tick_seconds"])
    levels = page.columns["growth_level"] * int(page.names["byte_unit"])
    assert len(ends) >= 3
    seen = 0
    for a, b in ((0, 1), (1, len(ends) - 1)):
        shown = show(address=f"#tab=growth&a={a}&b={b}")
        for by in ("line", "module", "category"):
            press(shown, "growth", by)
            before, after = (rows_at(lab, run, float(ends[end]), by) for end in (a, b))
            said = shown.page.evaluate(LEVELS)
            assert said == [sum(before.values()), sum(after.values()), said[1] - said[0]]
            assert said[:2] == [levels[a], levels[b]]
            wanted = differences(before, after)
            # A category may hold as much as before in other blocks.
            rows = [signed_number(title) for _, title in shown.page.evaluate(ROWS)]
            assert sorted(filter(None, rows)) == sorted(wanted.values())
            seen += len(rows)
        assert shown.console == []
    assert seen > 10


def test_the_two_ends_are_chosen_by_hand_by_keyboard_and_by_address(show: Show) -> None:
    shown = show(address="#tab=growth")
    first = shown.page.evaluate(LEVELS)
    canvas = shown.page.locator("#growth canvas").bounding_box()
    shown.page.mouse.click(canvas["x"] + 5, canvas["y"] + 100)
    shown.drawn()
    dragged = shown.page.evaluate(LEVELS)
    assert dragged[0] != first[0]
    assert dragged[1] == first[1]
    address = shown.page.evaluate("location.hash")
    assert "a=0" in address
    again = show(address=address)
    assert again.page.evaluate(LEVELS) == dragged
    again.fill("#growth label:nth-of-type(1) input", "1")
    again.press("#growth label:nth-of-type(1) input", "Enter")
    assert "a=2" in again.page.evaluate("location.hash")  # sample 0 is before the first step


def test_the_verdict_is_that_of_leaks(show: Show, lab: Lab, run: Run) -> None:
    said: dict[str, Any] = json.loads(lab.report("leaks", run.trace, "--json"))
    shown = show(address="#tab=growth")
    verdict = shown.page.evaluate('document.querySelector("#growth h2").firstChild.textContent')
    assert verdict == said["verdict"]
    assert verdict in lab.report("leaks", run.trace)
