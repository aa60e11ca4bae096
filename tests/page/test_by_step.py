"""Runs over each other by step: against `table`, `diff` and a walk over all events."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import peakline._report as engine
from lab import Lab, Run
from peakline.pages.step_levels import AFTER, BEFORE, StepLevels, axis_of
from shown import Shown

Show = Callable[..., Shown]

TRACING_STARTED, STEP = 1, 5  # of MarkKind in events.h

KEYS = {"line": "line", "module": "module", "operator": "op", "category": "category"}
ROWS = """() => [...document.querySelectorAll("#differences tbody tr")].map((row) =>
    [row.cells[0].title, row.cells[2].title, row.cells[3].title])"""

LEGEND = """() => [...document.querySelectorAll("#ranks .by-step li")].map((one) =>
    [one.innerText, +one.dataset.bytes])"""


def number_of(text: str) -> int:
    return int(text.replace("\u2212", "-").replace(",", "").removesuffix(" bytes"))


def levels_of(run: Run, **options: Any) -> StepLevels:
    return StepLevels(json.loads(engine.Trace(str(run.trace)).step_levels(**options)))


def levels_by_walk(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The level after each event of the only device, and when."""
    seconds, levels = [], []
    for columns, _ in engine.Trace(str(run.trace)).events():
        seconds.append(np.frombuffer(columns["seconds"], np.float64))
        levels.append(np.frombuffer(columns["allocated_bytes"], np.int64))
    return np.concatenate(seconds), np.concatenate(levels)


def test_every_step_has_the_peak_and_the_rows_of_the_table(rank_runs: list[Run]) -> None:
    for run in rank_runs[:2]:
        levels = levels_of(run)
        assert axis_of([levels]) == [BEFORE, 0, 1, AFTER]
        peaks = [max(levels.peaks_of(number)) for number in range(levels.count)]
        assert max(peaks) == run.said["peak"]
        for step in (0, 1):
            number = levels.range_of(step)
            assert number is not None
            for by in KEYS.values():
                trace = engine.Trace(str(run.trace))
                said = json.loads(trace.report("table", json=True, by=by, at=f"step@{step}"))
                rows = {row["key"]: row["bytes"] for row in said["rows"]}
                assert levels.rows(number, by) == rows
                assert sum(rows.values()) == peaks[number]
        assert levels.range_of(2) is None


def test_every_part_is_the_highest_level_of_its_time(run: Run) -> None:
    levels = levels_of(run)
    peaks = np.array(levels.data["peaks"])
    times = np.array(levels.data["peak_seconds"])
    assert len(peaks) == levels.count * levels.parts > 64
    assert all(one <= other for one, other in pairwise(times))
    seconds, walked = levels_by_walk(run)
    # No level between the moments of two parts exceeds both.
    for i, (one, other) in enumerate(pairwise(times)):
        inside = walked[(seconds > one) & (seconds < other)]
        assert inside.max(initial=0) <= max(peaks[i], peaks[i + 1])
    assert {*peaks} <= {0, *walked}
    assert peaks.max() == walked.max()


def test_the_gap_at_a_step_is_that_of_diff(
    show: Show, lab: Lab, rank_runs: list[Run], ranks_file: Path
) -> None:
    # The order in which they are given: from rank 1 to rank 0.
    before, after = rank_runs[0].trace, rank_runs[2].trace
    shown = show(file=ranks_file, address="#tab=differences")
    shown.until("document.querySelector('#differences tbody tr')")
    shown.drawn()
    box = shown.page.locator("#differences canvas").bounding_box()
    shown.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 50)
    assert shown.page.inner_text("#tip").startswith("Highest in step 0")
    shown.page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + 50)
    shown.drawn()
    assert "at=0" in shown.page.evaluate("location.hash")
    assert "At the highest moment of step 0" in shown.page.inner_text("#differences .note")
    for text, by in KEYS.items():
        shown.click(f'#differences .choice button:text-is("{text}")')
        words = ("diff", str(before), str(after), "--at", "step@0", "--by", by, "--json")
        said = json.loads(lab.peakline(*words).stdout)
        wanted = [
            [row["delta_bytes"], row["bytes_before"], row["bytes_after"]] for row in said["rows"]
        ]
        found = [[number_of(one) for one in row] for row in shown.page.evaluate(ROWS)]
        assert sorted(found) == sorted(row for row in wanted if row[0])
        delta = int(
            shown.page.evaluate("document.querySelector('#differences .sub').dataset.bytes")
        )
        assert delta == sum(row[0] for row in wanted)
    shown.click("#differences .by-step .link")
    assert shown.page.inner_text("#differences .note").startswith("At the peak of each.")
    assert shown.console == []


def test_all_ranks_are_over_each_other(
    show: Show, lab: Lab, rank_runs: list[Run], ranks_file: Path
) -> None:
    shown = show(file=ranks_file, address="#tab=ranks&at=1")
    shown.until("document.querySelector('#ranks .by-step li')")
    shown.drawn()
    said = shown.page.evaluate(LEGEND)
    peaks = [lab.table(run.trace, "--at", "step@1")["total_bytes"] for run in rank_runs]
    assert [size for _, size in said] == sorted(peaks, reverse=True)
    assert [text[:6] for text, _ in said] == ["rank 2", "rank 1", "rank 0"]


def test_a_long_run_has_several_steps_in_one(tmp_path: Path) -> None:
    chance = random.Random(5)
    file = tmp_path / "long.peak"
    writer = engine.TraceWriter(str(file), 1_700_000_000_000_000_000)
    writer.mark(0, TRACING_STARTED, 0)
    contexts = [writer.context(writer.node(0, f"/a/{name}.py", 1, "f"), 0) for name in "abc"]
    live: list[tuple[int, int, int]] = []
    held = [0, 0, 0]
    highest: list[list[int]] = []  # of each step, by line
    for step in range(3000):
        writer.mark(10 * step, STEP, 0)
        highest.append(held.copy())
        for _ in range(chance.randrange(1, 9)):
            if live and chance.random() < 0.5:
                ordinal, size, line = live.pop(chance.randrange(len(live)))
                writer.free(10 * step + 1, ordinal, size, 0, 0)
                size = -size
            else:
                size, line = 512 * chance.randrange(1, 40), chance.randrange(3)
                ordinal = writer.alloc(10 * step + 1, contexts[line], 0, 0, size, size, 0)
                live.append((ordinal, size, line))
            held[line] += size
            if sum(held) > sum(highest[-1]):
                highest[-1] = held.copy()
    writer.finish()
    levels = StepLevels(json.loads(engine.Trace(str(file)).step_levels()))
    starts = levels.data["steps"]
    assert 256 < len(starts) <= 512
    for number, (first, behind) in enumerate(pairwise(starts), 1):
        assert {levels.range_of(step) for step in range(first, behind)} == {number}
        wanted = max(highest[first:behind], key=sum)
        rows = {
            f"/a/{name}.py:1 (f)": size for name, size in zip("abc", wanted, strict=True) if size
        }
        assert max(levels.peaks_of(number)) == sum(wanted)
        assert levels.rows(number, "line") == rows
