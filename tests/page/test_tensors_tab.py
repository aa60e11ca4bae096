"""The tab of tensors: its rows, its bars and its download against `tensors --json` and `table`."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import Lab, Run
from reading import number_of
from shown import Shown

Show = Callable[..., Shown]

ROWS = """() => [...document.querySelectorAll("#tensors tbody tr")].map((row) =>
    [row.cells[0].title, row.cells[3].textContent])"""
SECONDS = 'Number(document.querySelector("#say [data-seconds]").dataset.seconds)'
# The reading of a bar, as shares of its room.
BARS = """() => [...document.querySelectorAll("#tensors tbody .life span")].map((bar) =>
    [bar.offsetLeft, bar.offsetWidth].map((one) => one / bar.parentElement.clientWidth))"""


def tensors(lab: Lab, run: Run, at: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        lab.report("tensors", run.trace, "--json", "--min", "0", "--at", at)
    )
    return found


def type_of(row: dict[str, Any]) -> str:
    return f"{row['dtype']} {row['shape']}" if row["dtype"] else ""


def downloaded(shown: Shown) -> list[dict[str, str]]:
    with shown.page.expect_download() as found:
        shown.click('#tensors button:text-is("Download CSV")')
    return list(csv.DictReader(io.StringIO(Path(found.value.path()).read_text())))


def as_text(name: str) -> str:
    """A spreadsheet must not take a name for a formula."""
    return f"'{name}" if name[:1] in tuple("=+-@\t\r") else name


def what(row: dict[str, Any]) -> tuple[str, ...]:
    saved, freed = (
        "" if row[key] is None else f"{row[key]:.6f}" for key in ("saved_seconds", "freed_seconds")
    )
    return (
        str(row["bytes"]),
        type_of(row),
        as_text(row["name"] or ""),
        row["category"],
        as_text(row["module"]),
        f"{row['allocated_seconds']:.6f}",
        saved,
        as_text(row["saved_by"] or ""),
        freed,
    )


def what_is_shown(row: dict[str, str]) -> tuple[str, ...]:
    saved, freed = (
        row[key] and f"{float(row[key]):.6f}" for key in ("saved_seconds", "freed_seconds")
    )
    return (
        row["bytes"],
        row["dtype_and_shape"],
        row["name"],
        row["category"],
        row["module"],
        f"{float(row['made_seconds']):.6f}",
        saved,
        row["saved_by"],
        freed,
    )


def test_the_blocks_of_any_moment_are_those_of_the_command(show: Show, lab: Lab, run: Run) -> None:
    saved_by = set()
    for address in ("", "&from=0.02&to=0.3", "&from=1.0&to=1.2"):
        shown = show(address=f"#tab=tensors{address}")
        seconds = shown.page.evaluate(SECONDS)
        said = tensors(lab, run, repr(seconds))
        rows = [(number_of(size), text) for size, text in shown.page.evaluate(ROWS)]
        assert len(rows) == min(100, said["row_count"])
        assert rows == [(row["bytes"], type_of(row)) for row in said["tensors"][: len(rows)]]
        kept = downloaded(shown)
        saved_by |= {row["saved_by"] for row in kept}
        assert Counter(map(what_is_shown, kept)) == Counter(map(what, said["tensors"]))
        note = shown.page.evaluate('({...document.querySelector("#tensors .note").dataset})')
        assert int(note["bytes"]) == said["total_bytes"]
        assert note["rest"] == "0"
        assert shown.console == []
    assert any(saved_by)  # at the peak; the other moments depend on how quick the machine is


def test_a_choice_of_blocks_sums_to_the_row_of_the_table(show: Show, lab: Lab, run: Run) -> None:
    shown = show(address="#tab=tensors")
    rows = {row["key"]: row["bytes"] for row in lab.table(run.trace, "--by", "category")["rows"]}
    for category, size in rows.items():
        shown.click(f'#tensors .choice button:text-is("{category}")')
        note = shown.page.evaluate('document.querySelector("#tensors .note").dataset.bytes')
        assert int(note) == size
    shown.click('#tensors .choice button:text-is("all")')
    shown.fill("#tensors input", "float32 [256, 256]")
    texts = {text for _, text in shown.page.evaluate(ROWS)}
    assert texts == {"float32 [256, 256]"}
    # A head sorts; the address keeps what was searched.
    shown.click('#tensors th button:text-is("Memory")')
    shown.click('#tensors th button:text-is("Memory")')
    sizes = [number_of(size) for size, _ in shown.page.evaluate(ROWS)]
    assert sizes == sorted(sizes)
    assert "tensor=float32%20%5B256" in shown.page.evaluate("location.hash")


def test_a_bar_lasts_from_birth_to_death(show: Show, run: Run) -> None:
    shown = show(address="#tab=tensors")
    bars = shown.page.evaluate(BARS)
    lives = [(float(row["made_seconds"]), row["freed_seconds"]) for row in downloaded(shown)]
    assert len(bars) > 20
    born = [left for left, _ in bars]
    order = sorted(range(len(bars)), key=lambda i: lives[i][0])
    assert all(born[a] <= born[b] + 0.01 for a, b in zip(order, order[1:], strict=False))
    for (left, width), (_, freed) in zip(bars, lives, strict=False):
        assert left + width <= 1.02
        assert freed or left + width > 0.98
