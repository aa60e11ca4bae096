"""The card of a run: its answer as a picture of 1200 by 630 pixels, as links and chats show it.

The figures are those of the page. Reads no files, prints nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peakline.base.output import printable
from peakline.base.sizes import share_of, size_of
from peakline.pages import plots
from peakline.pages.categories import category_colours
from peakline.pages.summary import facts_of, step_and_phase, title_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from peakline.pages.data import PageData

WIDTH = 1200  # pixels
HEIGHT = 630
DOTS_PER_INCH = 100
_LINES_SHOWN = 3
_LONGEST_LINE = 62
_TEXT = "#1b1f26"
_MUTED = "#5a6270"


def draw_card(figure: Figure, page: PageData, *, title: str = "") -> None:
    """Draw the peak, the lines that hold it, what would lower it, and memory over the run."""
    names = page.names
    peak = names["peak"]
    at = step_and_phase(names)

    def write(x: float, y: float, text: str, size: float, colour: str = _TEXT, **more: Any) -> None:
        figure.text(x, y, _plain(text), size=size, color=colour, va="baseline", **more)

    write(0.04, 0.925, title or title_of(names), 15, weight="bold")
    write(0.96, 0.925, " · ".join(facts_of(names)[:3]), 12, _MUTED, ha="right")
    write(0.04, 0.80, f"{size_of(peak['bytes'])} at the peak", 40, weight="bold")
    where = [at] if at else []
    write(0.04, 0.745, " · ".join([*where, f"{peak['seconds']:.3f} s"]), 13, _MUTED)
    y = 0.675
    for row in peak["lines"][:_LINES_SHOWN]:
        share = share_of(row["bytes"], peak["bytes"])
        write(0.04, y, share, 14, weight="bold")
        write(0.105, y, size_of(row["bytes"]), 14, _MUTED)
        write(0.205, y, _short(str(names["lines"][row["line"]]["key"])), 13, family="monospace")
        y -= 0.052
    advice = [one for one in names["advice"] or [] if one["saves_bytes"]]
    if advice:
        best = max(advice, key=lambda one: int(one["saves_bytes"]))
        write(0.04, y - 0.01, f"−{size_of(best['saves_bytes'])}", 14, weight="bold")
        write(0.205, y - 0.01, _short(best["change"] or best["title"], 88), 13)
    axes = figure.add_axes((0.085, 0.11, 0.74, 0.31))
    plots.draw_timeline(axes, page)
    axes.set_title("", loc="left")
    axes.set_xlabel("")
    axes.spines[["top", "right"]].set_visible(False)
    colour = category_colours()["parameter"]
    write(0.96, 0.025, "peakline", 12, colour, ha="right", weight="bold")


def _plain(text: str) -> str:
    """Return text without matplotlib markup."""
    return printable(text, instead=" ").replace("$", r"\$")


def _short(text: str, longest: int = _LONGEST_LINE) -> str:
    return (
        text
        if len(text) <= longest
        else f"...{text[3 - longest :]}"
        if "/" in text
        else (f"{text[: longest - 3]}...")
    )
