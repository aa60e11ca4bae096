"""`peakline plot`: figures whose numbers are the engine's, in files of their formats."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from lab import Lab, Run

matplotlib = pytest.importorskip("matplotlib", reason="pip install matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import peakline._report as engine  # noqa: E402
from peakline.base.sizes import size_of  # noqa: E402
from peakline.launch.host_memory import HostMemory, Process, Sample  # noqa: E402
from peakline.pages import plots  # noqa: E402
from peakline.pages.categories import category_colours, stacking_order  # noqa: E402
from peakline.pages.data import read_page  # noqa: E402
from peakline.pages.step_levels import StepLevels, axis_of  # noqa: E402

SVG_TEXT = "{http://www.w3.org/2000/svg}text"


@pytest.fixture(scope="module")
def run(lab: Lab) -> Run:
    return lab.once("train_model.py", "transformer")


def texts_of(svg: Path) -> list[str]:
    return ["".join(one.itertext()) for one in ElementTree.parse(svg).iter(SVG_TEXT)]


def test_the_columns_are_the_levels_of_the_engine(run: Run) -> None:
    trace = engine.Trace(str(run.trace))
    page = read_page(trace)
    table = json.loads(trace.report("table", json=True))
    assert page.peaks.max() == table["peak_bytes"]
    point = page.names["peak"]["point"]
    assert page.peaks[point] == table["peak_bytes"]
    assert (page.category_levels.sum(axis=0) == page.peaks).all()
    by_category = json.loads(trace.report("table", json=True, by="category"))
    at_peak = dict(zip(page.names["categories"], page.category_levels[:, point], strict=True))
    assert {row["key"]: row["bytes"] for row in by_category["rows"]} == {
        name: level for name, level in at_peak.items() if level
    }


@pytest.mark.parametrize("by_events", [False, True])
def test_the_areas_of_the_timeline_end_at_the_highest_levels(run: Run, by_events: bool) -> None:
    page = read_page(engine.Trace(str(run.trace)))
    figure, axes = plt.subplots()
    plots.draw_timeline(axes, page, by_events=by_events)
    tops = [float(patch.get_data().values.max()) for patch in axes.patches]
    plt.close(figure)
    assert max(tops) <= page.peaks.max()
    assert max(tops) >= page.peaks.max() * (1 - plots._SMALLEST_SHARE * len(page.category_levels))


def test_the_bars_are_those_of_the_table(run: Run) -> None:
    trace = engine.Trace(str(run.trace))
    figure, axes = plt.subplots()
    plots.draw_lines(axes, read_page(trace), 5)
    shown = [text.get_text() for text in axes.texts]
    plt.close(figure)
    rows = json.loads(trace.report("table", json=True, top=5))["rows"]
    assert shown == [size_of(row["bytes"]) for row in rows]


def host_table(folder: Path) -> Path:
    host = HostMemory()
    samples = [Sample(1.0, 1 << 30, 0), Sample(2.0, 2 << 30, 0)]
    host.processes[7, ""] = Process(7, "python $train.py", samples)
    host.write(folder / "host.csv")
    return folder / "host.csv"


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("timeline", "png"),
        ("lines", "pdf"),
        ("phases", "svg"),
        ("modules", "svg"),
        ("ranks", "svg"),
        ("growth", "svg"),
        ("compare", "svg"),
        ("plan", "svg"),
        ("card", "svg"),
        ("host", "svg"),
    ],
)
def test_every_kind_is_a_file_of_its_format(
    lab: Lab, run: Run, tmp_path: Path, kind: str, form: str
) -> None:
    output = tmp_path / f"figure.{form}"
    files = [str(run.trace)] * (2 if kind in ("ranks", "compare") else 1)
    if kind == "host":
        files = [str(host_table(tmp_path))]
    made = lab.peakline("plot", "--kind", kind, *files, "-o", str(output), "--title", "A title")
    assert made.returncode == 0, made.stderr
    assert made.stdout == f"Wrote {output}\n"
    begin = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[form]
    assert output.read_bytes().startswith(begin)
    if form == "svg":
        assert "A title" in texts_of(output)
    again = lab.peakline("plot", "--kind", kind, *files, "-o", str(output))
    assert again.returncode == 2
    assert "add --force" in again.stderr


def test_the_card_has_the_figures_of_the_table(lab: Lab, run: Run, tmp_path: Path) -> None:
    output = tmp_path / "card.svg"
    made = lab.peakline("plot", "--kind", "card", str(run.trace), "-o", str(output))
    assert made.returncode == 0, made.stderr
    texts = texts_of(output)
    table = lab.table(run.trace)
    assert f"{size_of(table['peak_bytes'])} at the peak" in texts
    for row in table["rows"][:3]:
        assert size_of(row["bytes"]) in texts
    picture = ElementTree.parse(output).getroot()
    assert (picture.get("width"), picture.get("height")) == ("864pt", "453.6pt")  # 72 per inch


def test_the_line_of_growth_is_what_steps_leave(run: Run) -> None:
    trace = engine.Trace(str(run.trace))
    page = read_page(trace)
    figure, axes = plt.subplots()
    plots.draw_growth(axes, page)
    levels = [int(level) for level in axes.lines[0].get_ydata()]
    plt.close(figure)
    ends = page.columns["growth_tick"] * float(page.names["tick_seconds"])
    for level, end in zip(levels, ends, strict=True):
        # Before the event that ends a step; ticks are 128 ns.
        table = json.loads(trace.report("table", json=True, at=repr(float(end) - 1.28e-7)))
        assert level == table["total_bytes"]


def test_two_runs_over_each_other_are_the_levels_of_the_engine(run: Run) -> None:
    data = json.loads(engine.Trace(str(run.trace)).step_levels())
    fewer = data | {"end_step": data["end_step"] - 1, "steps": data["steps"][:-1]}
    fewer["peaks"] = [peak // 2 for peak in data["peaks"][data["parts_per_step"] :]]
    fewer["changes"] = [data["changes"][0] + data["changes"][1], *data["changes"][2:]]
    figure, axes = plt.subplots()
    plots.draw_runs(axes, [("a", StepLevels(data)), ("b", StepLevels(fewer))])
    first, second = ([float(y) for y in line.get_ydata()] for line in axes.lines)
    title = axes.get_title(loc="left")
    plt.close(figure)
    assert first[::2] == data["peaks"]
    assert [y for y in second[:-1:2] if not math.isnan(y)][:10] == fewer["peaks"][:10]
    assert any(math.isnan(y) for y in second)
    gaps = []
    for slot in axis_of([StepLevels(fewer)]):
        ranges = StepLevels(data).range_of(slot), StepLevels(fewer).range_of(slot)
        before, after = (
            max(one.peaks_of(number))
            for one, number in zip((StepLevels(data), StepLevels(fewer)), ranges, strict=True)
        )
        gaps.append(after - before)
    widest = max(gaps, key=abs)
    assert title.startswith(f"{'+' if widest > 0 else ''}{size_of(widest)} in ")


def test_bad_use_says_what_to_do(lab: Lab, run: Run, tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        result: Any = lab.peakline("plot", *words)
        assert result.returncode == 2
        return result.stderr

    trace = str(run.trace)
    assert "must end with .png, .svg, .pdf" in refused(trace, "-o", str(tmp_path / "a.jpg"))
    assert "--kind ranks and compare draw several" in refused(trace, trace)
    assert "give two FILEs or more" in refused("--kind", "compare", trace)
    assert "--kind host draws the table of peakline run --host" in refused("--kind", "host")
    assert "line 1 is not of a table that" in refused("--kind", "host", trace)


def test_colours_and_order_are_those_of_the_page(run: Run) -> None:
    colours = category_colours()
    names = read_page(engine.Trace(str(run.trace))).names["categories"]
    assert set(names) <= set(colours)
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours.values())
    order = [names[i] for i in stacking_order(names)]
    assert order.index("parameter") < order.index("gradient") < order.index("activation")
