"""The tab of the map: torch's own snapshot of its segments, at the peak and at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Lab
from reading import number_of, press
from shown import Shown

Show = Callable[..., Shown]
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}

FIGURES = """() => ({
    reserved: +document.querySelector("#map .big").dataset.bytes,
    sums: [...document.querySelectorAll("#map .lead [data-bytes]")].map((b) => +b.dataset.bytes),
    lead: document.querySelector("#map .lead").innerText,
    rows: [...document.querySelectorAll("#map tbody tr")].map((row) =>
        [row.querySelector("canvas").getAttribute("aria-label"), row.cells[5].textContent,
         row.cells[4].textContent, ...[0, 1, 2, 3].map((i) => row.cells[i].title)])})"""
TIP = 'document.querySelector("#tip").hidden ? "" : document.querySelector("#tip").innerText'


def page_of(lab: Lab, trace: Path, *options: str) -> Path:
    file = trace.with_suffix(".html")
    result = lab.peakline("html", str(trace), "-f", "-o", str(file), *options)
    assert result.returncode == 0, result.stderr
    return file


def check_map(shown: Shown, torchs: dict[str, Any]) -> None:
    seen = shown.page.evaluate(FIGURES)
    segments = torchs["segments"]
    free = torchs["reserved"] - torchs["active"]
    largest = max(one["largest"] for one in segments)
    assert seen["reserved"] == torchs["reserved"]
    assert seen["sums"] == [torchs["active"], free, largest]
    assert f"in {sum(one['blocks'] for one in segments)} blocks" in seen["lead"]
    assert f"in {sum(one['holes'] for one in segments)} holes" in seen["lead"]
    rows = {}
    for label, stream, count, *sizes in seen["rows"]:
        numbers = [number_of(size) for size in sizes]
        rows[int(label.split("0x")[1], 16)] = (stream.split(",")[0], number_of(count), *numbers)
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
    shown = show(file=page_of(lab, run.trace), address="#tab=map")
    check_map(shown, run.said["peak"])
    press(shown, "map", "at the end")
    check_map(shown, run.said["end"])
    assert shown.console == []


def test_the_pointer_names_a_block_and_a_hole(show: Show, lab: Lab) -> None:
    run = lab.once("map_of_segments.py", environment=None)
    shown = show(file=page_of(lab, run.trace), address="#tab=map")
    rows = shown.page.locator("#map tbody tr").all()
    said = []
    for row in rows:
        canvas = row.locator("canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        canvas.hover(position={"x": box["width"] / 2, "y": 9})
        said.append(shown.page.evaluate(TIP))
    segments = run.said["peak"]["segments"]
    largest = next(text for text in said if "100.0 MB" in text)
    assert "map_of_segments.py:" in largest and "104,857,600 bytes" in largest
    assert said.count("free") >= sum(one["used"] == 0 for one in segments) == 2
    assert shown.console == []


def test_blocks_of_the_legend_are_the_categories_of_the_table(show: Show, lab: Lab) -> None:
    run = lab.once("train_model.py", "transformer")
    shown = show(file=page_of(lab, run.trace), address="#tab=map")
    table = lab.table(run.trace, "--by", "category")
    seen = shown.page.evaluate(
        """() => [...document.querySelectorAll("#map .legend li")].map((one) =>
            one.childNodes[1].textContent.trim())"""
    )
    assert seen == [row["key"] for row in table["rows"]]
    assert shown.page.evaluate(FIGURES)["sums"][0] == table["total_bytes"]


def test_a_page_without_segments_says_which_recording_has_them(show: Show, lab: Lab) -> None:
    run = lab.once("map_of_segments.py", environment=None)
    every = page_of(lab, run.trace, "--device", "all")
    assert "of one device" in show(file=every, address="#tab=map").page.inner_text("#map")
    backend = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
    bare = lab.once("page_names.py", environment=backend)
    shown = show(file=page_of(lab, bare.trace), address="#tab=map")
    assert "does not have the segments" in shown.page.inner_text("#map")
    assert shown.console == []
