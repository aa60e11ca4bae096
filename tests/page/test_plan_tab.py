"""The tab of plans: its sets are those of `plan --json`; the budget is dragged, typed and kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Lab, Run
from shown import Shown

Show = Callable[..., Shown]

ROWS = """() => [...document.querySelectorAll("#plan tbody tr")].map((row) =>
    [Number(row.cells[0].title.replace(/\\D/g, "")), row.cells[3].lastChild?.textContent || ""])"""
CHOSEN = """() => [...document.querySelectorAll("#plan tbody tr")].findIndex((row) =>
    row.querySelector("strong"))"""
FIELD = "#plan label input"


@pytest.fixture(scope="module")
def planned(lab: Lab) -> Run:
    return lab.once("plan_one.py")


@pytest.fixture(scope="module")
def file(lab: Lab, planned: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the run."""
    made = tmp_path_factory.mktemp("plan") / "plan.html"
    lab.report("html", planned.trace, "-o", str(made))
    return made


def test_the_sets_are_those_of_plan(show: Show, lab: Lab, planned: Run, file: Path) -> None:
    said: dict[str, Any] = json.loads(
        lab.report("plan", planned.trace, "--budget", "1MiB", "--json")
    )
    rounding = said["rounding_bytes"]
    shown = show(file=file, address="#tab=plan")
    wanted = [[one["peak_bytes"] + rounding, ", ".join(one["layers"])] for one in said["frontier"]]
    assert shown.page.evaluate(ROWS) == wanted
    assert shown.console == []


def test_a_budget_chooses_the_cheapest_set_that_fits(show: Show, file: Path) -> None:
    shown = show(file=file, address="#tab=plan")
    rows = shown.page.evaluate(ROWS)
    for wanted in (1, len(rows) - 1):
        shown.fill(FIELD, repr((rows[wanted][0] + 1) / 2**30))
        shown.press(FIELD, "Enter")
        assert shown.page.evaluate(CHOSEN) == wanted
        snippet = shown.page.evaluate('document.querySelector("#plan pre").textContent')
        assert f"for name in {rows[wanted][1].split(', ')}:" in snippet
        compile(snippet, "snippet", "exec")
    shown.fill(FIELD, "0.001")
    shown.press(FIELD, "Enter")
    assert shown.page.evaluate(CHOSEN) == -1
    assert "No set of layers fits" in shown.page.inner_text("#plan .lead")
    canvas = shown.page.locator("#plan canvas").bounding_box()
    shown.page.mouse.click(canvas["x"] + 50, canvas["y"] + 20)
    shown.drawn()
    assert shown.page.evaluate(CHOSEN) == 0
    address = shown.page.evaluate("location.hash")
    assert "budget=" in address
    assert show(file=file, address=address).page.evaluate(CHOSEN) == 0


def test_the_tab_is_accessible_and_fits_a_phone(show: Show, file: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python")
    script = next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text()
    for width, theme in ((280, "dark"), (1440, "light")):
        shown = show(width=width, theme=theme, file=file, address="#tab=plan")
        assert shown.page.evaluate("document.documentElement.scrollWidth") == width
        shown.page.evaluate(script)
        found = shown.page.evaluate("axe.run()")["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
