"""Tables and flames of the whole run, by stack, and what asked for memory: the engine's sums."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import peakline._report as engine
import pytest
from lab import Lab, Run
from reading import lines_shown, number_of, press
from shown import Shown

Show = Callable[..., Shown]


def flame_sum(shown: Shown) -> int:
    return int(shown.page.evaluate('document.querySelector("#flame-sum").dataset.total'))


def test_what_is_left_is_the_table_at_the_end(show: Show, lab: Lab, run: Run) -> None:
    shown = show(address="#tab=lines&of=left")
    table = lab.table(run.trace, "--at", "end")
    rows = lines_shown(shown)
    assert sorted(size for _, size, _ in rows) == sorted(row["bytes"] for row in table["rows"])
    assert sum(count for _, _, count in rows) == sum(row["count"] for row in table["rows"])
    assert not shown.page.is_visible("#scope")
    shown.tab("flame")
    assert flame_sum(shown) == table["total_bytes"]
    press(shown, "flame", "blocks")
    assert flame_sum(shown) == sum(row["count"] for row in table["rows"])
    assert shown.console == []


def test_all_allocations_sum_to_the_total_of_the_engine(show: Show, lab: Lab, run: Run) -> None:
    shown = show(address="#tab=lines&of=allocated")
    total = lab.table(run.trace)["total_allocated_bytes"]
    rows = lines_shown(shown)
    assert sum(size for _, size, _ in rows) == total
    shown.tab("flame")
    assert flame_sum(shown) == total
    for mode in ("own code", "module first", "operator first", "phase first", "whole stack"):
        press(shown, "flame", mode)
        assert flame_sum(shown) == total
    press(shown, "flame", "temporary")
    temporary = flame_sum(shown)
    assert 0 < temporary < total
    shown.tab("lines")
    assert sum(size for _, size, _ in lines_shown(shown)) == temporary
    assert "freed before the thread" in shown.page.inner_text("#lines .say")


def test_the_kind_stays_in_the_address_until_another_one_is_chosen(show: Show) -> None:
    shown = show(address="#tab=flame")
    press(shown, "flame", "allocated in all")
    assert "of=allocated" in shown.page.evaluate("location.hash")
    shown.tab("timeline")
    assert shown.page.is_visible("#scope")
    shown.tab("lines")
    pressed = '#lines .choice button[aria-pressed="true"]'
    assert "allocated in all" in shown.page.locator(pressed).all_inner_texts()
    press(shown, "lines", "held at this moment")
    assert "of=" not in shown.page.evaluate("location.hash")


def test_rows_by_stack_are_those_of_the_table(show: Show, lab: Lab, run: Run) -> None:
    shown = show(address="#tab=lines")
    press(shown, "lines", "stack")
    table = lab.table(run.trace, "--by", "stack")
    rows = lines_shown(shown)
    assert Counter((size, count) for _, size, count in rows) == Counter(
        (row["bytes"], row["count"]) for row in table["rows"]
    )
    row = shown.page.locator("#lines tbody tr", has_text="page_names.py").first
    row.locator("summary").click()
    assert "(<module>)" in row.locator("pre").inner_text()
    shown.fill("#lines input", "<module>")
    assert len(lines_shown(shown)) > 0


def test_a_line_shows_what_asked_for_its_memory(show: Show, lab: Lab, run: Run) -> None:
    shown = show(address="#tab=lines")
    parts: list[dict[str, Any]] = shown.page.evaluate(
        """() => [...document.querySelectorAll("#lines tbody tr")].map((row) => ({
            bytes: row.cells[0].title, via: (row.querySelector(".via") || {}).textContent || "",
            parts: [...row.querySelectorAll(".vias li")].map((one) => one.title)}))"""
    )
    said = Counter(
        (
            number_of(one["bytes"]),
            one["via"].removeprefix("via ").split(",")[0],
            tuple(sorted(number_of(part) for part in one["parts"])),
        )
        for one in parts
    )
    wanted = Counter()
    for row in lab.table(run.trace)["rows"]:
        via = row["via"]
        named = [part["name"] for part in via if part["name"]]
        sizes = sorted(part["bytes"] for part in via) if len(via) > 1 else []
        wanted[row["bytes"], named[0] if named else "", tuple(sizes)] += 1
    assert said == wanted


@pytest.mark.parametrize("measure", ["allocated", "requested"])
def test_sums_of_contexts_are_those_of_the_engine_in_both_measures(
    lab: Lab, run: Run, measure: str
) -> None:
    names, columns = engine.Trace(str(run.trace)).page(measure=measure)
    page = json.loads(names)
    sums: dict[str, int] = {}
    at = 0
    for column in page["columns"]:
        count, width = column["count"], column["width"]
        if column["name"].startswith("context_") and column["coding"] == "plain":
            planes = columns[at : at + count * width]
            sums[column["name"]] = sum(byte << (8 * (i // count)) for i, byte in enumerate(planes))
        at += count * width
    unit = page["byte_unit"]
    end = lab.table(run.trace, "--at", "end", "--measure", measure)
    assert sums["context_left_bytes"] * unit == end["total_bytes"]
    assert sums["context_allocated_bytes"] * unit == page["total_allocated_bytes"]
    assert page["total_allocated_bytes"] == end["total_allocated_bytes"]


TWIN = """() => [...document.querySelectorAll("#flame tbody .right[data-amount]")].map(
    (one) => Number(one.dataset.amount))"""


def test_the_table_below_the_flame_has_the_same_sums_and_zooms(show: Show, run: Run) -> None:
    shown = show(address="#tab=flame")
    shown.click('#flame summary:text-is("The same as a table")')
    shown.until(f"({TWIN})().length > 0")
    assert shown.page.evaluate(TWIN) == [flame_sum(shown)]  # the program's one module
    press(shown, "flame", "operator first")
    whole = shown.page.evaluate(TWIN)
    assert sum(whole) == flame_sum(shown) and len(whole) > 1
    shown.page.locator("#flame tbody button").first.click()
    shown.drawn()
    assert sum(shown.page.evaluate(TWIN)) == whole[0]
    assert shown.page.is_visible('#flame button:text-is("Whole program")')
    shown.page.locator("#flame canvas").focus()
    shown.key("Backspace")
    shown.until(f"({TWIN})().length === {len(whole)}")
    assert shown.page.evaluate(TWIN) == whole
    assert shown.console == []


def test_native_frames_are_shown_on_demand(show: Show, lab: Lab, run: Run) -> None:
    assert not show(address="#tab=flame").page.is_visible('#flame button:text-is("Native frames")')
    file = lab.folder / "native.html"
    assert lab.peakline("html", str(run.trace), "--native", "-o", str(file)).returncode == 0
    shown = show(file=file, address="#tab=lines")
    press(shown, "lines", "stack")
    table = lab.table(run.trace, "--by", "stack", "--native")
    assert sorted(size for _, size, _ in lines_shown(shown)) == sorted(
        row["bytes"] for row in table["rows"]
    )
    assert any("at::" in text or ".so" in text for text, _, _ in lines_shown(shown))
    shown.tab("flame")
    total = flame_sum(shown)
    shown.fill("#flame input", ".so")
    facts = "document.querySelector('#flame .tools .facts').innerText"
    shown.until(f"/^[1-9]\\d* found/.test({facts})")
    shown.click('#flame button:text-is("Native frames")')
    shown.until(f"/^0 found/.test({facts})")
    assert flame_sum(shown) == total
