"""The tab of the map: torch's own snapshot of its segments, at the peak and at the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import Lab, Run
from peakline._report import Trace
from reading import number_of, press
from shown import Shown

Show = Callable[..., Shown]
LEFT = 74  # where segments begin in the picture
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}

FIGURES = """() => ({
    reserved: +document.querySelector("#map .big").dataset.bytes,
    sums: [...document.querySelectorAll("#map .lead [data-bytes]")].map((b) => +b.dataset.bytes),
    lead: document.querySelector("#map .lead").innerText,
    causes: [...document.querySelectorAll("#map .causes dt")].map((one) =>
        [one.dataset.cause, +one.querySelector("[data-bytes]").dataset.bytes]),
    rows: [...document.querySelectorAll("#map details > table tbody tr")].map((row) =>
        [row.cells[7].textContent, row.cells[6].textContent, row.cells[4].textContent,
         ...[0, 1, 2, 3].map((i) => row.cells[i].title)])})"""
# The tips of many points: how far to the right of where segments begin, and the text.
SWEEP = """(canvas, left) => {
    const box = canvas.getBoundingClientRect();
    const tip = document.querySelector("#tip");
    const said = [];
    for (let y = 2; y < box.height; y += 7) {
        for (let x = left + 0.5; x < box.width; x += 7) {
            canvas.dispatchEvent(
                new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }));
            if (!tip.hidden) said.push([(x - left) / (box.width - left), tip.innerText]);
        }
    }
    return said;
}"""
TIP = 'document.querySelector("#tip").hidden ? "" : document.querySelector("#tip").innerText'
DETAILS = 'document.querySelector("#map .beside .panel").innerText'


def page_of(lab: Lab, trace: Path, *options: str) -> Path:
    file = trace.with_suffix(".html")
    result = lab.peakline("html", str(trace), "-f", "-o", str(file), *options)
    assert result.returncode == 0, result.stderr
    return file


@pytest.fixture(scope="module")
def plain(lab: Lab) -> Run:
    """A run without settings, with its page beside it."""
    run = lab.once("map_of_segments.py", environment=None)
    page_of(lab, run.trace)
    return run


def choose_moment(shown: Shown, name: str) -> None:
    """By the begin of its text in the list of moments."""
    options = shown.page.locator("#map .tools select option").all_inner_texts()
    [wanted] = [text for text in options if text.startswith(name)]
    shown.select_option("#map .tools select", label=wanted)


def check_map(shown: Shown, torchs: dict[str, Any]) -> None:
    shown.page.evaluate("document.querySelector('#map details:has(> table)').open = true")
    shown.drawn()
    seen = shown.page.evaluate(FIGURES)
    segments = torchs["segments"]
    free = torchs["reserved"] - torchs["active"]
    largest = max(one["largest"] for one in segments)
    assert seen["reserved"] == torchs["reserved"] == sum(size for _, size in seen["causes"])
    assert dict(seen["causes"])["live"] == torchs["allocated"]
    assert seen["sums"] == [torchs["active"], free, largest]
    assert f"in {sum(one['blocks'] for one in segments)} blocks" in seen["lead"]
    assert f"in {sum(one['holes'] for one in segments)} holes" in seen["lead"]
    rows = {}
    for label, stream, count, *sizes in seen["rows"]:
        numbers = [number_of(size) for size in sizes]
        rows[int(label, 16)] = (stream.split(",")[0], number_of(count), *numbers)
    assert rows == {
        one["address"]: (
            f"stream {one['stream']:#x}" if one["stream"] else "default stream",
            one["blocks"],
            one["bytes"],
            one["used"],
            one["bytes"] - one["used"],
            one["largest"],
        )
        for one in segments
    }


@pytest.mark.parametrize("environment", [None, EXPANDABLE], ids=["plain", "expandable"])
def test_segments_blocks_and_holes_are_those_of_torchs_snapshot(
    show: Show, lab: Lab, environment: dict[str, str] | None
) -> None:
    run = lab.once("map_of_segments.py", environment=environment)
    file = run.trace.with_suffix(".html")
    shown = show(file=file if file.exists() else page_of(lab, run.trace), address="#tab=map")
    check_map(shown, run.said["peak"])
    choose_moment(shown, "end")
    check_map(shown, run.said["end"])
    assert shown.console == []


def test_the_pointer_names_the_block_or_hole_that_lies_there(show: Show, plain: Run) -> None:
    shown = show(file=plain.trace.with_suffix(".html"), address="#tab=map")
    press(shown, "map", "full width each")
    found = json.loads(Trace(str(plain.trace)).report("map", json=True, at="peak"))
    by_address = {one["address"]: one for one in found["segments"]}
    canvas = shown.page.locator("#map .segments canvas")
    canvas.hover(position={"x": LEFT + 3, "y": 36})
    assert shown.page.evaluate(TIP) != ""
    seen = set()
    for share, text in canvas.evaluate(SWEEP, LEFT):
        address = int(text.rpartition(", 0x")[2].split()[0], 16)
        base = max(one for one in by_address if one <= address)
        check_tip(text, by_address[base], base + share * by_address[base]["bytes"])
        seen.add(address)
    every = [one for segment in found["segments"] for one in segment["blocks"] + segment["holes"]]
    large = {one["address"] for one in every if one["bytes"] > 1 << 20}
    assert large <= seen
    assert shown.console == []


def check_tip(text: str, segment: dict[str, Any], at: float) -> None:
    """Brute force: whatever covers the address."""
    [part] = [
        one
        for one in segment["blocks"] + segment["holes"]
        if one["address"] <= at < one["address"] + one["bytes"]
    ]
    assert f"{part['bytes']:,} bytes" in text
    assert f"{part['address']:#x}" in text
    stream = f"stream {segment['stream']:#x}" if segment["stream"] else "default stream"
    assert stream in text
    if "cause" in part:
        assert text.startswith(part["cause"])
    else:
        assert part["location"].rpartition("/")[2] in text


def test_blocks_of_the_legend_are_the_categories_of_the_table(show: Show, lab: Lab) -> None:
    run = lab.once("train_model.py", "transformer")
    shown = show(file=page_of(lab, run.trace), address="#tab=map")
    table = lab.table(run.trace, "--by", "category")
    seen = shown.page.evaluate(
        """() => [...document.querySelectorAll("#map .beside .legend li")].map((one) =>
            one.childNodes[1].textContent.trim())"""
    )
    assert seen == [row["key"] for row in table["rows"]]
    assert shown.page.evaluate(FIGURES)["sums"][0] == table["total_bytes"]


def test_ledger_and_settings_are_those_of_their_reports(show: Show, plain: Run) -> None:
    shown = show(file=plain.trace.with_suffix(".html"), address="#tab=map")
    trace = Trace(str(plain.trace))
    for moment in ("peak", "end"):
        choose_moment(shown, moment)
        ledger = json.loads(trace.report("ledger", json=True, at=moment))
        seen = shown.page.evaluate(
            """() => [...document.querySelectorAll("#map .ledger li")].map((one) =>
                [one.querySelector("bdi").textContent, +one.dataset.bytes])"""
        )
        parts = [[part["name"], part["bytes"]] for part in ledger["parts"]]
        rest = [["unexplained", ledger["unexplained_bytes"]]]
        assert seen == [part for part in parts + rest if part[1]]
        assert sum(size for _, size in seen) == ledger["device_used_bytes"]
    settings = json.loads(trace.report("whatif", json=True, search_settings=True, top=0))
    rows = shown.page.evaluate(
        """() => [...document.querySelectorAll("#map .whatif tbody tr")].map((row) =>
            [row.dataset.settings, +row.dataset.bytes])"""
    )
    runs = [settings["recorded"], *settings["runs"][:10]]
    assert rows == [[one["settings"], one["reserved_peak_bytes"]] for one in runs]


def test_a_block_says_what_it_is_and_why_its_segment_stays(show: Show, plain: Run) -> None:
    shown = show(file=plain.trace.with_suffix(".html"), address="#tab=map")
    shown.page.focus("#map .segments canvas")
    segments = json.loads(Trace(str(plain.trace)).report("map", json=True, at="peak"))["segments"]
    walked = set()
    for _ in range(len(segments)):
        shown.key("ArrowDown")
        for _ in range(12):
            text = shown.page.evaluate(DETAILS)
            walked.add(int(text.split("Address")[1].split()[0], 16))
            check_why(text, segments)
            shown.key("ArrowRight")
    parts = [one for segment in segments for one in segment["blocks"] + segment["holes"]]
    assert walked == {one["address"] for one in parts}
    while "Category" not in shown.page.evaluate(DETAILS):
        shown.key("ArrowLeft")
    check_past(shown, plain.trace)
    shown.click("#map .panel button:text-is('Show this line in Lines')")
    assert not shown.page.evaluate("document.querySelector('#lines').hidden")
    assert len(shown.page.query_selector_all("#lines tbody tr")) == 1


def check_past(shown: Shown, trace: Path) -> None:
    """The blocks of the address that is shown: those of the list of all events."""
    text = shown.page.evaluate(DETAILS)
    address = int(text.split("Address")[1].split()[0], 16)
    shown.page.evaluate("document.querySelector('#map .past').open = true")
    shown.until("document.querySelector('#map .past li')")
    seen = shown.page.evaluate(
        "[...document.querySelectorAll('#map .past li')].map((one) => one.textContent)"
    )
    allocs = [one for one in peakline.open(trace).events() if one.kind == "alloc"]
    found = [one for one in allocs if one.address <= address < one.address + one.bytes]
    assert len(seen) == len(found) > 0
    for said, one in zip(seen, found, strict=True):
        assert f"from {one.seconds:.6f} s" in said
        assert one.line.rpartition("/")[2] in said


def check_why(text: str, segments: list[dict[str, Any]]) -> None:
    """The lines of the live blocks of its segment."""
    segment_address = int(text.rpartition("0x")[0] and text.split(" at 0x")[-1].split(",")[0], 16)
    [segment] = [one for one in segments if one["address"] == segment_address]
    lines = {one["location"] for one in segment["blocks"] if not one["is_waiting"]}
    if lines:
        assert ("this line" if len(lines) == 1 else f"these {len(lines)} lines") in text
    else:
        assert "empty_cache() gives it back" in text
    why = text.split("Not given back")[-1]
    assert all(line.rpartition("/")[2] in why for line in lines)


def test_the_moment_of_the_bar_is_that_of_the_map(show: Show, plain: Run) -> None:
    shown = show(file=plain.trace.with_suffix(".html"), address="#tab=map")
    trace = Trace(str(plain.trace))
    shown.page.focus("#bar")
    for _ in range(6):
        shown.key("ArrowLeft")
        said = shown.page.evaluate(
            '() => ({...document.querySelector("#say [data-bytes]").dataset})'
        )
        at = float(said["seconds"]) + 6e-8
        engine = json.loads(trace.report("fragmentation", json=True, at=at))
        causes = dict(shown.page.evaluate(FIGURES)["causes"])
        assert causes == {name: size for name, size in engine["causes"].items() if size}
        assert causes["live"] == int(said["bytes"])
    before = shown.page.evaluate(FIGURES)["causes"]
    for key in (",", ",", ".", "."):
        shown.key(key)
    assert shown.page.evaluate(FIGURES)["causes"] == before


def test_a_small_page_shows_the_moment_that_is_nearest_to_the_bar(show: Show, lab: Lab) -> None:
    run = lab.once("moves_segments.py")
    file = run.trace.with_suffix(".html")
    result = lab.peakline("html", str(run.trace), "--budget", "0.0035", "-f", "-o", str(file))
    assert result.returncode == 0, result.stderr
    shown = show(file=file, address="#tab=map")
    assert "nearest to the time of the bar" in shown.page.inner_text("#map")
    assert shown.page.query_selector("#map button[aria-label='One event on']") is None
    trace = Trace(str(run.trace))
    for moment in ("most reserved", "end", "peak"):
        choose_moment(shown, moment)
        at = moment
        if moment == "most reserved":
            text = shown.page.inner_text("#map .sub").rpartition(" · ")[2]
            at = float(text.removesuffix(" s"))
            said = json.loads(trace.page(budget=3500)[0])["map"]["moments"]
            [exact] = [one["seconds"] for one in said if one["kind"] == "reserved"]
            assert abs(exact - at) < 0.001
            at = exact + 6e-8
        engine = json.loads(trace.report("fragmentation", json=True, at=at))
        causes = dict(shown.page.evaluate(FIGURES)["causes"])
        assert causes == {name: size for name, size in engine["causes"].items() if size}


COUNT_DRAWN = """async (name) => {
    const button = [...document.querySelectorAll("#map .choice button")].find(
        (one) => one.textContent === name);
    const draw = CanvasRenderingContext2D.prototype.fillRect;
    let count = 0;
    CanvasRenderingContext2D.prototype.fillRect = function (...box) {
        count += this.canvas.closest("#map .segments") ? 1 : 0;
        return draw.apply(this, box);
    };
    button.click();
    await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
    CanvasRenderingContext2D.prototype.fillRect = draw;
    return count;
}"""


def test_a_hundred_thousand_blocks_are_drawn_by_the_pixel(show: Show, lab: Lab) -> None:
    run = lab.once("fills_the_map.py", environment=EXPANDABLE)
    shown = show(file=page_of(lab, run.trace), address="#tab=map")
    choose_moment(shown, "end")
    assert "in 100,000 blocks" in shown.page.inner_text("#map .lead")
    shown.page.evaluate("document.querySelector('#map .beside').scrollIntoView()")
    width = shown.page.evaluate("document.querySelector('#map .segments canvas').clientWidth")
    for look in ("line", "age", "category"):
        count = shown.page.evaluate(COUNT_DRAWN, look)
        # Of blocks and of holes one a pixel and one across its edge; parts of the bar.
        assert width / 2 < count < 4 * width + 20
    for _ in range(10):
        shown.click("#map .tools button[aria-label='Closer']")
    shown.page.hover("#map .segments canvas", position={"x": width / 2, "y": 40})
    assert "fills_the_map.py:5" in shown.page.evaluate(TIP) or "free" in shown.page.evaluate(TIP)
    assert shown.console == []


def test_a_page_without_segments_says_which_recording_has_them(show: Show, lab: Lab) -> None:
    run = lab.once("map_of_segments.py", environment=None)
    every = page_of(lab, run.trace, "--device", "all")
    assert "of one device" in show(file=every, address="#tab=map").page.inner_text("#map")
    backend = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
    bare = lab.once("page_names.py", environment=backend)
    shown = show(file=page_of(lab, bare.trace), address="#tab=map")
    assert "does not have the segments" in shown.page.inner_text("#map")
    assert shown.console == []
