"""The figure of `peakline plot --kind host`: host memory over time by process.

Reads no files, prints nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from peakline.base.sizes import size_of
from peakline.pages.categories import category_colours
from peakline.pages.plots import legend_from_above, plain_name, set_bytes, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from peakline.launch.host_memory import HostTable, Process

_LONGEST_COMMAND = 28
# The page's colours, in an order that puts different ones beside each other; grey is the rest.
_WHEEL = (
    "parameter",
    "temporary",
    "cache",
    "gradient",
    "activation",
    "optimizer state",
    "workspace",
    "input",
    "communication",
    "buffer",
)
_FARTHEST_LIMIT = 2.5  # times the peak; a higher line would flatten the areas


def draw_host(axes: Axes, table: HostTable, top: int) -> None:
    """Draw resident bytes by process; the largest `top` have areas of their own."""
    moments = np.unique([one.seconds for each in table.processes for one in each.samples])
    levels = [_levels_of(one, moments) for one in table.processes]
    total = np.sum(levels, axis=0)
    # A level holds until the next moment; the last one as long as the one before it.
    last = moments[-1] - moments[-2] if len(moments) > 1 else 1.0
    edges = np.append(moments, moments[-1] + last)
    bottom = np.zeros(len(moments))
    for name, colour, area in _areas_of(table.processes, levels, top):
        axes.stairs(
            bottom + area,
            edges,
            baseline=bottom,
            fill=True,
            facecolor=colour,
            edgecolor="white",
            linewidth=0.4,
            label=plain_name(name),
        )
        bottom = bottom + area
    at = int(total.argmax())
    _mark_peak(axes, edges, at, int(total[at]))
    most = _mark_limit(axes, table.limit, int(total[at]))
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel("seconds")
    set_bytes(axes, most, "y")
    axes.set_ylim(0, most * 1.12)
    legend_from_above(axes)
    of = f"the container's {size_of(table.limit)}" if table.limit else "host memory"
    count = _processes(sum(1 for one in levels if one[at]))
    axes.set_title(f"{size_of(int(total[at]))} of {of} at the peak, in {count}", loc="left")


def _levels_of(process: Process, moments: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return its resident bytes at each moment: of its latest sample, and 0 outside of its life."""
    seconds = [one.seconds for one in process.samples]
    latest = np.searchsorted(seconds, moments, side="right") - 1
    is_alive = (latest >= 0) & (moments <= seconds[-1])
    return np.where(is_alive, np.array([one.resident for one in process.samples])[latest], 0)


def _areas_of(
    processes: Sequence[Process], levels: Sequence[NDArray[np.int64]], top: int
) -> list[tuple[str, str, NDArray[np.int64]]]:
    """Return name, colour and levels of each area, from below."""
    colours = category_colours()
    wheel = [colours[name] for name in _WHEEL]
    by_size = sorted(range(len(levels)), key=lambda i: -int(levels[i].max()))
    areas = []
    shown = sorted(by_size[:top], key=lambda i: (processes[i].samples[0].seconds, processes[i].pid))
    for place, i in enumerate(shown):
        name = f"{short_name(processes[i].command, _LONGEST_COMMAND)} ({processes[i].pid})"
        areas.append((name, wheel[place % len(wheel)], levels[i]))
    if rest := by_size[top:]:
        name = _processes(len(rest), "other ")
        areas.append((name, colours["unknown"], np.sum([levels[i] for i in rest], axis=0)))
    return areas


def _processes(count: int, which: str = "") -> str:
    return f"{count} {which}process{'es' if count > 1 else ''}"


def _mark_peak(axes: Axes, edges: NDArray[np.float64], at: int, peak: int) -> None:
    moment = float(edges[at])
    axes.plot(moment, peak, "o", markersize=4, color="0.2", clip_on=False)
    axes.annotate(
        f"peak {size_of(peak)}",
        (moment, peak),
        xytext=(0, 5),
        textcoords="offset points",
        ha="right" if moment > edges[0] + 0.7 * (edges[-1] - edges[0]) else "left",
    )


def _mark_limit(axes: Axes, limit: int | None, peak: int) -> int:
    """Draw the container's limit if it is near; returns the highest drawn level."""
    if limit is None or limit > peak * _FARTHEST_LIMIT:
        return peak
    axes.axhline(limit, color="0.4", linestyle="--", linewidth=1)
    axes.annotate(
        f"limit {size_of(limit)}",
        (1, limit),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
    )
    return max(limit, peak)
