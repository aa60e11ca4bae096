"""Figures of a trace for papers and slides, drawn with matplotlib. Reads no files, prints nothing.

Each function draws into one Axes. Bytes are shown in units of 1024.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from peakline.base.output import printable
from peakline.base.sizes import size_of
from peakline.differences.text import signed
from peakline.pages.categories import category_colours, stacking_order
from peakline.pages.step_levels import axis_of
from peakline.pages.summary import step_and_phase

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from peakline.pages.data import PageData
    from peakline.pages.step_levels import StepLevels

_MOST_COLUMNS = 700  # each column is at least a pixel wide
_UNITS = ("B", "KB", "MB", "GB", "TB")
_LONGEST_LABEL = 44
_SMALLEST_SHARE = 0.002  # share of the peak of the smallest visible category


def draw_timeline(axes: Axes, page: PageData, *, by_events: bool = False) -> None:
    """Draw memory over time by category; a column shows the highest moment of its time."""
    positions = np.arange(len(page.peaks)) * float(page.names["events_per_point"])
    end = float(page.names["event_count"])
    if not by_events:
        positions, end = page.seconds, float(page.names["work_end_seconds"])
    edges, best = _columns(positions, page.peaks, end)
    peak = int(page.names["peak"]["bytes"])
    bottom = np.zeros(len(best))
    colours = category_colours()
    names: list[str] = page.names["categories"]
    for i in stacking_order(names):
        levels = page.category_levels[i][best]
        if levels.max(initial=0) >= _SMALLEST_SHARE * peak:
            colour = colours.get(names[i], colours["unknown"])
            axes.stairs(
                bottom + levels, edges, baseline=bottom, fill=True, color=colour, label=names[i]
            )
        bottom += levels
    at = float(positions[int(page.names["peak"]["point"])])
    axes.annotate(
        f"peak {size_of(peak)}",
        (at, peak),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right" if at > edges[0] + 0.7 * (end - edges[0]) else "left",
    )
    # a single moment has equal edges
    axes.set_xlim(edges[0], end if end > edges[0] else edges[0] + 1)
    axes.set_xlabel("events" if by_events else "seconds")
    set_bytes(axes, peak, "y")
    axes.set_ylim(0, peak * 1.12)
    legend_from_above(axes)
    axes.set_title(answer_of(page.names), loc="left")


def answer_of(names: dict[str, Any]) -> str:
    """Return the answer of a run as a title: "12.62 GB at the peak, step 1 backward"."""
    place = step_and_phase(names)
    return plain_name(
        f"{size_of(names['peak']['bytes'])} at the peak" + (f", {place}" if place else "")
    )


def draw_growth(axes: Axes, page: PageData) -> None:
    """Draw the level at the end of every step, as the page's tab Growth does."""
    growth = page.names["growth"]
    by_time = growth["unit"] == "time"
    levels = page.columns["growth_level"] * int(page.names["byte_unit"])
    ends = page.columns["growth_tick"] * float(page.names["tick_seconds"])
    # The first level is at the begin of the first step.
    steps = ends if by_time else page.columns["growth_step"] + np.arange(len(levels)).clip(0, 1)
    axes.plot(steps, levels, color=category_colours()["parameter"])
    first, last = min(1, len(levels) - 2), len(levels) - 1
    gained = int(levels[last] - levels[first])
    size = f"{'+' if gained > 0 else ''}{size_of(gained)}"
    count = float(steps[last] - steps[first])
    one = "second" if by_time else growth["one"]
    rate = f", {size_of(round(gained / count))} per {one}" if count else ""
    axes.set_title(plain_name(f"{size} after the first {growth['one']}{rate}"), loc="left")
    axes.set_xlabel("seconds" if by_time else f"{growth['many']} done")
    if not by_time:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    set_bytes(axes, int(levels.max()), "y")
    axes.set_ylim(0, int(levels.max()) * 1.12)


def draw_plan(axes: Axes, plan: dict[str, Any]) -> None:
    """Draw the peak against the cost of the cheapest sets, the budget and the set for it."""
    points = plan["points"]
    is_known = all(point["cost"] is not None for point in points)
    at = [point["cost"] * 100 if is_known else len(point["layers"]) for point in points]
    colour = category_colours()["parameter"]
    axes.plot(
        at,
        [point["bytes"] for point in points],
        marker="o",
        markersize=4,
        color=colour,
        drawstyle="steps-post",
    )
    most = max(plan["now_bytes"], plan["budget_bytes"], *(point["bytes"] for point in points))
    axes.set_title(plain_name(f"{size_of(plan['now_bytes'])} now"), loc="left")
    if plan["budget_bytes"]:
        title = f"No set of layers has a peak of {size_of(plan['budget_bytes'])}"
        axes.axhline(plan["budget_bytes"], color="0.4", linestyle="--", linewidth=1)
        axes.annotate(
            f"budget {size_of(plan['budget_bytes'])}",
            (1, plan["budget_bytes"]),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right",
        )
        chosen = plan["chosen"]
        if chosen:
            count = f"{len(chosen['layers'])} of {plan['layer_count']} layers"
            title = f"{count} for a peak of {size_of(chosen['bytes'])}"
            place = chosen["cost"] * 100 if is_known else len(chosen["layers"])
            axes.plot(place, chosen["bytes"], "o", markersize=9, color=colour, label="chosen")
        axes.set_title(plain_name(title), loc="left")
    axes.set_xlabel(
        "% of the step's FLOPs made again" if is_known else "number of checkpointed layers"
    )
    axes.set_xlim(left=0)
    set_bytes(axes, most, "y")
    axes.set_ylim(0, most * 1.12)


def draw_runs(axes: Axes, runs: Sequence[tuple[str, StepLevels]]) -> None:
    """Draw the levels of runs over each other by step; of two, the title is their widest gap."""
    levels = [one for _, one in runs]
    slots = axis_of(levels)
    colours = list(category_colours().values())
    most = 1
    for i, (name, one) in enumerate(runs):
        at, peaks = _line_of(one, slots)
        most = max(most, *one.data["peaks"])
        axes.plot(at, peaks, color=colours[i % len(colours)], label=plain_name(name), linewidth=1.2)
    one = levels[0].data["one"]
    names = ["before", *(str(slot) for slot in slots[1:-1]), "after"]
    axes.set_xlim(0, len(slots))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: names[int(x)] if 0 <= x < len(names) else "")
    )
    axes.set_xlabel("part of the run" if one == "part" else one)
    set_bytes(axes, most, "y")
    axes.set_ylim(0, most * 1.12)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    axes.set_title(_widest_gap(runs) if len(runs) == 2 else "", loc="left")


def _line_of(run: StepLevels, slots: Sequence[str | int]) -> tuple[list[float], list[float]]:
    """Return where each part begins and ends, and its peak; NaN where the run has no such step."""
    at: list[float] = []
    peaks: list[float] = []
    width = 1 / run.parts
    first = 0
    # A range of several steps is drawn over all of them.
    for number, same in groupby(run.range_of(slot) for slot in slots):
        count = sum(1 for _ in same)
        if number is None:
            at.append(first)
            peaks.append(float("nan"))
        else:
            for part, peak in enumerate(run.peaks_of(number)):
                at += [first + count * part * width, first + count * (part + 1) * width]
                peaks += [peak, peak]
        first += count
    return at, peaks


def _widest_gap(runs: Sequence[tuple[str, StepLevels]]) -> str:
    """Return "+1.2 GB in step 3, +0.9 GB at train.py:27"."""
    (_, before), (_, after) = runs
    widest, name, where = 0, "", (0, 0)
    for slot in axis_of([before, after]):
        ranges = before.range_of(slot), after.range_of(slot)
        if ranges[0] is None or ranges[1] is None:
            continue
        gap = max(after.peaks_of(ranges[1])) - max(before.peaks_of(ranges[0]))
        if abs(gap) > abs(widest):
            widest, where = gap, (ranges[0], ranges[1])
            name = f"{before.data['one']} {slot}" if isinstance(slot, int) else f"the time {slot}"
    if not widest:
        return "The same peak in every step"
    was, now = before.rows(where[0], "line"), after.rows(where[1], "line")
    rows = {key: now.get(key, 0) - was.get(key, 0) for key in {*was, *now}}
    key = max(rows, key=lambda one: (abs(rows[one]), one))
    return plain_name(f"{signed(widest)} in {name}; {signed(rows[key])} at {short_name(key)}")


def _columns(
    positions: NDArray[Any], peaks: NDArray[np.int64], end: float
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the edges of columns of equal width, and the highest point of each.

    A column without a point continues the last point before it.
    """
    begin = float(positions[0])
    edges = np.linspace(begin, max(end, np.nextafter(begin, np.inf)), _MOST_COLUMNS + 1)
    starts = np.searchsorted(positions, edges)
    best = []
    for first, behind in zip(starts[:-1], starts[1:], strict=True):
        last_before = max(0, first - 1)
        if first == behind:
            best.append(last_before)
        else:
            best.append(first + int(np.argmax(peaks[first:behind])))
    return edges, np.array(best)


def draw_lines(axes: Axes, page: PageData, top: int) -> None:
    """Draw the lines that hold most at the peak, each split by category."""
    rows = page.names["peak"]["lines"][:top]
    labels = [short_name(str(page.names["lines"][row["line"]]["key"])) for row in rows]
    _draw_bars(axes, labels, [row["categories"] for row in rows], page.names["categories"])
    axes.set_title(answer_of(page.names), loc="left")


def draw_modules(axes: Axes, table: dict[str, Any], top: int) -> None:
    """Draw the modules that hold most, from `table --by module --json`."""
    rows = table["rows"][:top]
    colour = category_colours()["parameter"]
    positions = np.arange(len(rows))
    axes.barh(positions, [row["bytes"] for row in rows], color=colour)
    _label_bars(axes, [short_name(row["key"]) for row in rows], [row["bytes"] for row in rows])


def draw_phases(axes: Axes, phases: dict[str, Any]) -> None:
    """Draw the peak of each phase over the steps, from `phases --json`."""
    most = 1
    for name in (one["name"] for one in phases["totals"]):
        found = [one for one in phases["phases"] if one["name"] == name and one["depth"] == 0]
        numbered = [one for one in found if one["step"] is not None]
        if not numbered:
            continue
        steps = [one["step"] for one in numbered]
        peaks = [one["peak_bytes"] for one in numbered]
        most = max(most, *peaks)
        axes.plot(steps, peaks, marker="o", markersize=3, label=plain_name(name))
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    set_bytes(axes, most, "y")
    axes.set_ylim(0, most * 1.12)
    legend_from_above(axes)


def draw_ranks(axes: Axes, pages: Sequence[tuple[str, PageData]]) -> None:
    """Draw the peak of each trace, split by category; the first one is on top."""
    categories = sorted({name for _, page in pages for name in page.names["categories"]})
    splits = []
    for _, page in pages:
        levels = dict(zip(page.names["categories"], page.names["peak"]["categories"], strict=True))
        splits.append([levels.get(name, 0) for name in categories])
    _draw_bars(axes, [name for name, _ in pages], splits, categories)
    name, most = max(pages, key=lambda one: int(one[1].names["peak"]["bytes"]))
    title = f"At most {size_of(most.names['peak']['bytes'])}, in {name}"
    axes.set_title(plain_name(title), loc="left")


def _draw_bars(
    axes: Axes, labels: list[str], splits: Sequence[Sequence[int]], categories: list[str]
) -> None:
    """Draw horizontal bars, split by category, the first on top."""
    colours = category_colours()
    positions = np.arange(len(labels))
    sums = [sum(split) for split in splits]
    left = np.zeros(len(labels))
    for i in stacking_order(categories):
        widths = np.array([split[i] for split in splits], float)
        if widths.max(initial=0) >= _SMALLEST_SHARE * max(sums, default=1) and widths.any():
            colour = colours.get(categories[i], colours["unknown"])
            axes.barh(positions, widths, left=left, color=colour, label=categories[i])
        left += widths
    _label_bars(axes, labels, sums)
    legend_from_above(axes)


def _label_bars(axes: Axes, labels: list[str], sums: list[int]) -> None:
    most = max([1, *sums])
    for position, one in enumerate(sums):
        axes.text(one + most * 0.01, position, size_of(one), va="center")
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlim(0, most * 1.18)
    set_bytes(axes, most, "x")


def set_bytes(axes: Axes, most: int, which: str) -> None:
    """Set ticks at round numbers in the unit of the largest value."""
    power = min(len(_UNITS) - 1, max(0, (max(most, 1).bit_length() - 1) // 10))
    unit = 1024**power
    axis = axes.yaxis if which == "y" else axes.xaxis
    steps = MaxNLocator(6).tick_values(0, most / unit)
    axis.set_ticks([one * unit for one in steps if one * unit <= most * 1.15])
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value / unit:g} {_UNITS[power]}" if value else "0")
    )


def legend_from_above(axes: Axes) -> None:
    """Draw a legend in the order of the areas, from above."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles[::-1],
            labels[::-1],
            loc="center left",
            bbox_to_anchor=(1.01, 0.5),
            frameon=False,
        )


def plain_name(text: str) -> str:
    """Return a name as text without matplotlib markup."""
    return printable(text, instead=" ").replace("$", r"\$")


def short_name(key: str, longest: int = _LONGEST_LABEL) -> str:
    """Return a line as file:number (function), without its folders."""
    path, space, function = key.partition(" (")
    text = f"{path.rpartition('/')[2]}{space}{function}" if "/" in path else key
    text = plain_name(text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
