"""The page in a browser: one number everywhere, nothing loaded, nothing obeyed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peakline._report as engine
import pytest
from lab import Lab, Run
from shown import Shown

ROOT = Path(__file__).resolve().parents[2]
TABS = (
    "summary",
    "lines",
    "flame",
    "timeline",
    "map",
    "tensors",
    "growth",
    "modules",
    "phases",
    "oom",
)
Show = Callable[..., Shown]

# "N bytes" of every row of the table shown, by its text.
ROWS = """() => [...document.querySelectorAll("#lines tbody tr")].map((row) =>
    [row.querySelector(".place").firstChild.textContent, row.cells[0].title])"""
SAID = '() => ({...document.querySelector("#say [data-bytes]").dataset})'


def bytes_of(text: str) -> int:
    return int(text.replace(",", "").removesuffix(" bytes"))


def drag(shown: Shown, begin: float, end: float) -> None:
    box = shown.page.locator("#bar").bounding_box()
    middle = box["y"] + box["height"] / 2
    shown.page.mouse.move(box["x"] + begin * box["width"], middle)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + end * box["width"], middle, steps=3)
    shown.page.mouse.up()
    shown.drawn()


def test_a_drag_changes_table_flame_and_sentence_to_the_number_of_the_engine(
    show: Show, lab: Lab, run: Run
) -> None:
    shown = show(address="#tab=lines")
    seen = set()
    for begin, end in ((0.02, 0.1), (0.3, 0.45), (0.62, 0.63), (0.9, 0.97)):
        drag(shown, begin, end)
        said = shown.page.evaluate(SAID)
        rows = [bytes_of(title) for _, title in shown.page.evaluate(ROWS)]
        shown.tab("flame")
        flame = shown.page.evaluate('document.querySelector("#flame-sum").dataset.bytes')
        shown.tab("lines")
        table = lab.table(run.trace, "--at", repr(float(said["seconds"])))
        assert int(said["bytes"]) == table["total_bytes"] == sum(rows) == int(flame)
        assert sorted(rows) == sorted(row["bytes"] for row in table["rows"])
        seen.add(said["bytes"])
    assert len(seen) > 2
    assert shown.console == []


def test_the_page_opens_at_the_peak_that_torch_reports(show: Show, run: Run) -> None:
    shown = show(address="#tab=lines")
    assert int(shown.page.evaluate(SAID)["bytes"]) == run.said["peak"]
    drag(shown, 0.1, 0.2)
    address = shown.page.evaluate("location.hash")
    again = show(address=address)
    assert again.page.evaluate(SAID) == shown.page.evaluate(SAID)
    shown.key("p")
    assert int(shown.page.evaluate(SAID)["bytes"]) == run.said["peak"]


@pytest.mark.parametrize("by", ["module", "category", "operator", "phase", "lifetime", "function"])
def test_rows_by_another_key_are_those_of_the_table(
    show: Show, lab: Lab, run: Run, by: str
) -> None:
    shown = show(address="#tab=lines")
    shown.click(f'#lines .choice button:text-is("{by}")')
    rows = [bytes_of(title) for _, title in shown.page.evaluate(ROWS)]
    table = lab.table(run.trace, "--by", {"operator": "op"}.get(by, by))
    assert sorted(rows) == sorted(row["bytes"] for row in table["rows"])


def test_names_of_the_program_are_shown_and_not_obeyed(show: Show) -> None:
    shown = show(address="#tab=lines")
    assert "document.title" in shown.page.inner_text("#lines")
    for tab in TABS:
        shown.tab(tab)
    shown.fill("#lines input", "owned") if shown.page.is_visible("#lines input") else None
    title = shown.page.title()
    assert title.startswith("page_names: ") and "owned" not in title
    strange = "document.querySelectorAll('img, iframe, link, main script, [onerror]').length"
    assert shown.page.evaluate(strange) == 0
    assert shown.page.evaluate("document.querySelectorAll('script').length") == 3
    assert shown.console == []


# Where the first and the last letter of a name stand that begins with a mark of direction.
LETTERS = """() => {
    const name = [...document.querySelectorAll("#lines bdi")].find((one) =>
        one.textContent.includes("right to left"));
    const walk = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
    while (!walk.currentNode.data?.includes("right to left")) walk.nextNode();
    const at = walk.currentNode.data.indexOf("right");
    const leftOf = (i) => {
        const range = document.createRange();
        range.setStart(walk.currentNode, i);
        range.setEnd(walk.currentNode, i + 1);
        return range.getBoundingClientRect().left;
    };
    return [leftOf(at), leftOf(at + 4), name.innerText, name.textContent];
}"""


def test_a_mark_of_direction_does_not_turn_a_name(show: Show) -> None:
    shown = show(address="#tab=lines")
    first, last, seen, text = shown.page.evaluate(LETTERS)
    assert first < last
    assert "\u202e" in text and "\u202e" not in seen


def test_nothing_is_loaded_and_the_policy_holds(show: Show, page_file: Path) -> None:
    shown = show()
    assert shown.requests == [f"file://{page_file}"]
    for attempt in (
        "document.body.append(Object.assign(document.createElement('script'),"
        " {textContent: 'window.ran = 1'}))",
        "document.body.setAttribute('onclick', 'window.ran = 1'); document.body.click()",
        "fetch('https://example.org/').catch(() => 0)",
        "document.body.append(Object.assign(new Image(), {src: 'https://example.org/a.png'}))",
    ):
        shown.page.evaluate(f"(() => {{ {attempt} }})()")
    shown.drawn()
    assert shown.page.evaluate("window.ran") is None
    assert all("Content Security Policy" in line for line in shown.console)
    assert len(shown.console) >= 4


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_tab(show: Show, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python")
    script = next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text()
    shown = show(theme=theme)
    shown.page.evaluate(script)
    for tab in TABS:
        shown.tab(tab)
        result = shown.page.evaluate("axe.run()")
        assert len(result["passes"]) > 10
        found = result["violations"]
        assert [(tab, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


@pytest.mark.parametrize(("width", "theme"), [(280, "dark"), (390, "dark"), (1440, "light")])
def test_no_tab_is_wider_than_the_screen(show: Show, width: int, theme: str) -> None:
    shown = show(width=width, theme=theme)
    for tab in TABS:
        shown.tab(tab)
        assert shown.page.evaluate("document.documentElement.scrollWidth") == width, tab
        assert shown.page.evaluate(f"document.getElementById('{tab}').innerText").strip()
    assert shown.console == []


def test_the_answer_is_there_without_script(browser: Any, page_file: Path, run: Run) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(f"file://{page_file}")
    text = page.inner_text("#summary")
    assert "at the peak" in text and f"{run.said['peak']:,} bytes" in text
    assert "Largest lines" in text
    context.close()


def test_a_refused_request_is_the_first_thing_said(show: Show) -> None:
    said = show().page.inner_text("#summary .warn")
    assert said.startswith("Out of memory at ") and "page_names.py:" in said
    assert "asked the device for 1.000 TB" in said


def test_both_sides_know_the_same_columns(run: Run) -> None:
    names, columns = engine.Trace(str(run.trace)).page()
    listed = json.loads(names)["columns"]
    scripts = "".join(file.read_text() for file in (ROOT / "report" / "page").rglob("*.js"))
    used = set(re.findall(r"columns\.([a-z]+_[a-z_]+)", scripts))
    assert used == {column["name"] for column in listed}
    assert sum(column["width"] * column["count"] for column in listed) == len(columns)


def test_a_small_budget_keeps_fewer_moments_and_the_same_peak(run: Run) -> None:
    trace = engine.Trace(str(run.trace))
    pages = [json.loads(trace.page(budget=budget)[0]) for budget in (8e6, 1e3)]
    assert pages[0]["points_per_moment"] < pages[1]["points_per_moment"]
    assert pages[0]["peak"] == pages[1]["peak"]


def test_a_page_of_a_part_says_what_was_highest_there(show: Show, lab: Lab, run: Run) -> None:
    end = json.loads(lab.report("timeline", run.trace, "--json"))["end_seconds"]
    phases = json.loads(lab.report("phases", run.trace, "--json"))["phases"]
    # As a report prints it: time has ticks of 128 ns, and the digits of a report are rounded.
    middle = min((one["begin_seconds"] for one in phases), key=lambda at: abs(at - end / 2))
    page = json.loads(engine.Trace(str(run.trace)).page(from_seconds=middle, to_seconds=end)[0])
    assert page["peak"]["seconds"] >= middle
    part = lab.folder / "part.html"
    made = lab.peakline("html", str(run.trace), "--from", repr(middle), "-o", str(part))
    assert made.returncode == 0, made.stderr
    shown = show(file=part, address="#tab=lines")
    assert "the highest moment of this part of the run" in shown.page.inner_text("#say")
    assert int(shown.page.evaluate(SAID)["bytes"]) == page["peak"]["bytes"]
    result = lab.peakline("html", str(run.trace), "--from", "1", "--to", "0")
    assert (result.returncode, result.stdout) == (2, "")


def test_a_page_is_not_replaced_unasked(lab: Lab, run: Run, page_file: Path) -> None:
    before = page_file.read_bytes()
    refused = lab.peakline("html", str(run.trace), "-o", str(page_file))
    assert refused.returncode == 2 and "--force" in refused.stderr
    assert page_file.read_bytes() == before


def test_a_disk_that_is_full_is_said_and_leaves_no_file(lab: Lab, run: Run) -> None:
    output = lab.folder / "full" / "page.html"
    output.parent.mkdir()
    command = [sys.executable, "-m", "peakline", "html", str(run.trace), "-o", str(output)]
    result = subprocess.run(
        ["bash", "-c", 'ulimit -f 8; exec "$@"', "bash", *command],
        env=lab.environment(None),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert result.stderr == f"peakline: error: cannot write {output}: File too large\n"
    assert list(output.parent.iterdir()) == []


def test_source_is_there_unless_it_is_not_wanted(lab: Lab, run: Run, show: Show) -> None:
    bare = lab.folder / "bare.html"
    options = ("-o", str(bare), "--no-source")
    assert lab.peakline("flamegraph", str(run.trace), *options).returncode == 0
    shown = show(address="#tab=lines")
    assert shown.page.locator("#lines details.source").count() > 0
    assert "model.cuda()" in shown.page.text_content("#lines")
    without = show(file=bare)
    assert without.page.is_visible("#flame canvas")
    without.tab("lines")
    assert without.page.locator("#lines details.source").count() == 0
