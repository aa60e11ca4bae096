"""The timeline: what it stacks against the engine's tables, what torch reserved against torch."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import peakline._report as engine
import pytest
from lab import Lab, Run
from peakline.base.sizes import size_of
from reading import column_of, press
from shown import Shown
from test_page import SAID, drag

ROOT = Path(__file__).resolve().parents[2]
Show = Callable[..., Shown]

LEGEND = """() => [...document.querySelectorAll("#timeline .legend li")].map((one) =>
    [one.querySelector("i").className, one.querySelector("bdi").textContent, +one.dataset.bytes])"""


@pytest.mark.parametrize("by", ["line", "module", "phase", "operator"])
def test_figures_at_a_chosen_moment_are_those_of_the_table(
    show: Show, lab: Lab, run: Run, by: str
) -> None:
    shown = show(address="#tab=timeline")
    press(shown, "timeline", by)
    seen = set()
    for begin, end in ((0.02, 0.1), (0.3, 0.45), (0.62, 0.63)):
        drag(shown, begin, end)
        said = shown.page.evaluate(SAID)
        legend = [one for one in shown.page.evaluate(LEGEND) if one[0] != "reserved"]
        moment = repr(float(said["seconds"]))
        option = {"operator": "op"}.get(by, by)
        table = lab.table(run.trace, "--by", option, "--at", moment)
        rows = {row["key"][:200]: row["bytes"] for row in table["rows"]}
        sizes = [size for _, _, size in legend]
        assert sum(sizes) == int(said["bytes"]) == table["total_bytes"]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) <= 9
        named = [(name, size) for _, name, size in legend if name != "the rest"]
        # A page cuts a very long name and keeps the characters that a terminal escapes.
        plain = [(name[3:], size) for name, size in named if size and name[3:] in rows]
        assert all(rows[name] == size for name, size in plain)
        unmatched = sorted(row["bytes"] for row in table["rows"])
        for _, size in named:
            if size:
                unmatched.remove(size)
        assert sum(unmatched) == sum(size for _, name, size in legend if name == "the rest")
        assert plain or by in ("line", "module")
        seen.update(named)
    # Every series that is drawn has its name, also where it holds nothing at the moment shown.
    assert len({name for name, _ in seen}) == len(named)
    assert len(seen) > 2
    assert shown.console == []


def test_the_choice_stays_in_the_address(show: Show) -> None:
    shown = show(address="#tab=timeline")
    press(shown, "timeline", "module")
    address = shown.page.evaluate("location.hash")
    assert "stack=module" in address
    again = show(address=address)
    assert again.page.evaluate(LEGEND) == shown.page.evaluate(LEGEND)
    assert "by module" in again.page.get_attribute("#timeline canvas", "aria-label")
    press(shown, "timeline", "category")
    assert "stack=" not in shown.page.evaluate("location.hash")
    assert show(address="#tab=timeline&stack=nothing").console == []


def test_a_page_of_few_moments_says_where_its_split_is_of(show: Show, lab: Lab, run: Run) -> None:
    file = lab.folder / "few.html"
    assert (
        lab.peakline("html", str(run.trace), "--budget", "0.001", "-o", str(file)).returncode == 0
    )
    shown = show(file=file, address="#tab=timeline&stack=line")
    assert "split of the nearest moment" in shown.page.inner_text("#timeline .note")
    shown = show(address="#tab=timeline&stack=line")
    assert "split of the nearest moment" not in shown.page.inner_text("#timeline .note")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_in_a_stack_by_line(show: Show, theme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python")
    script = next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text()
    shown = show(theme=theme, width=width, address="#tab=timeline&stack=line")
    shown.page.evaluate(script)
    result = shown.page.evaluate("axe.run()")
    assert len(result["passes"]) > 10
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in result["violations"]] == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("expandable", [False, True])
def test_reserved_is_what_torch_says_at_every_mark(show: Show, lab: Lab, expandable: bool) -> None:
    settings = {"PYTORCH_CUDA_ALLOC_CONF": f"expandable_segments:{expandable}"}
    run = lab.once("reserves.py", environment=settings)
    text, data = engine.Trace(str(run.trace)).page()
    page = json.loads(text)
    begins = [tick * page["tick_seconds"] for tick in column_of(page, data, "point_begin")]
    reserved = [size * page["byte_unit"] for size in column_of(page, data, "point_reserved")]
    points = [bisect_right(begins, one["seconds"]) - 1 for one in page["phases"]["notes"]]
    steps = run.said["steps"]
    assert [reserved[point] for point in points] == [step["reserved"] for step in steps]
    assert [max(reserved[a : b + 1]) for a, b in zip(points, points[1:], strict=False)] == [
        step["most"] for step in steps[1:]
    ]
    assert len({step["reserved"] for step in steps}) > 4
    file = lab.folder / f"reserves{expandable}.html"
    assert lab.peakline("html", str(run.trace), "-o", str(file)).returncode == 0
    shown = show(file=file, address="#tab=timeline")
    shown_size = [size for kind, _, size in shown.page.evaluate(LEGEND) if kind == "reserved"]
    assert shown_size == [reserved[page["peak"]["point"]]]


SECONDS = 'Number(document.querySelector("#say [data-seconds]").dataset.seconds)'
STRIPE = """() => [...document.querySelectorAll("#tip div")].map((one) => one.textContent)"""


def test_a_stripe_is_a_block_of_its_moment(show: Show, lab: Lab, run: Run) -> None:
    shown = show(address="#tab=timeline&show=blocks")
    box = shown.page.locator("#timeline canvas").bounding_box()
    x = box["x"] + box["width"] * 0.6
    shown.page.mouse.click(x, box["y"] + 30)
    shown.drawn()
    at = shown.page.evaluate(SECONDS)
    listed = json.loads(lab.report("tensors", run.trace, "--json", "--min", "0", "--at", repr(at)))
    known = {
        (size_of(row["bytes"]), row["dtype"] and f"{row['dtype']} {row['shape']}"): row
        for row in listed["tensors"]
    }
    seen = {}
    for y in range(20, 560, 3):
        shown.page.mouse.move(x, box["y"] + y)
        tip = shown.page.evaluate(STRIPE)
        # Else the moment's own tip, where no block is large enough.
        if tip and "to the end" in tip[-1] or " s to " in tip[-1]:
            seen[tip[0].split("  ")[0], tip[1] if len(tip) == 4 else ""] = y
    largest = max(known, key=lambda one: known[one]["bytes"])
    assert largest in seen and len(seen) > 1
    assert {*seen} <= {*known}
    before = shown.page.evaluate("location.hash")
    shown.page.mouse.click(x, box["y"] + seen[largest])
    shown.drawn()
    panel = shown.page.inner_text("#timeline .block")
    row = known[largest]
    assert panel.startswith(largest[0])
    assert f"{row['bytes']:,} bytes" in panel and row["category"] in panel and largest[1] in panel
    again = show(address=shown.page.evaluate("location.hash"))
    assert again.page.inner_text("#timeline .block") == panel
    assert "block=" not in before
    assert shown.console == again.console == []
