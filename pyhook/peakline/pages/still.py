"""The answer of a run as a still picture for a notebook: HTML without script, style or other files.

It survives saving, exporting and sharing: an inline SVG and a table. Names come from the program:
they enter the markup only through text.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peakline.base.sizes import share_of, size_of
from peakline.pages.categories import category_colours, stacking_order
from peakline.pages.summary import facts_of, step_and_phase, title_of
from peakline.pages.text import text_of

if TYPE_CHECKING:
    from peakline.pages.data import PageData

_WIDTH = 720
_HEIGHT = 150
_COLUMNS = 240
_LINES_SHOWN = 8


def still_of(page: PageData) -> str:
    """Return the markup: peak, memory over the run by category, largest lines."""
    names = page.names
    peak = names["peak"]
    place = step_and_phase(names)
    facts = [text_of(one) for one in (*([place] if place else []), *facts_of(names)[:3])]
    return (
        f"<p><b>{text_of(title_of(names))}: {size_of(peak['bytes'])} at the peak</b><br>"
        f"{' · '.join(facts)}</p>\n{_drawing(page)}\n{_legend(names)}\n{_lines(names)}"
    )


def _colour(name: str) -> str:
    colours = category_colours()
    return colours.get(name, colours["unknown"])


def _drawing(page: PageData) -> str:
    """Return columns of equally many events; each is the highest moment of its time."""
    names = page.names
    count = len(page.peaks)
    columns = min(_COLUMNS, count)
    edges = [round(i * count / columns) for i in range(columns + 1)]
    best = [
        first + int(page.peaks[first:behind].argmax())
        for first, behind in zip(edges[:-1], edges[1:], strict=True)
    ]
    most = max(1, int(page.peaks.max()))
    wide = _WIDTH / columns
    bottom = [0.0] * columns
    shapes = []
    for category in stacking_order(names["categories"]):
        path = ""
        for column, point in enumerate(best):
            high = _HEIGHT * int(page.category_levels[category][point]) / most
            if high > 0:
                top = _HEIGHT - bottom[column] - high
                path += f"M{column * wide:.1f} {top:.1f}h{wide:.1f}v{high:.1f}h-{wide:.1f}z"
            bottom[column] += high
        if path:
            shapes.append(f'<path fill="{_colour(names["categories"][category])}" d="{path}"/>')
    label = f"Memory over the run by category, at most {size_of(names['peak']['bytes'])}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{"".join(shapes)}</svg>'
    )


def _legend(names: dict[str, Any]) -> str:
    peak = names["peak"]
    levels = dict(zip(names["categories"], peak["categories"], strict=True))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10">'
        f'<rect width="10" height="10" fill="{_colour(name)}"/></svg>'
        f" {text_of(name)} {size_of(level)}"
        for name, level in sorted(levels.items(), key=lambda one: -one[1])
        if level
    ]
    return f"<p>{' &nbsp; '.join(parts)}</p>"


def _lines(names: dict[str, Any]) -> str:
    peak = names["peak"]
    rows = "".join(
        f"<tr><td>{size_of(row['bytes'])}</td><td>{text_of(share_of(row['bytes'], peak['bytes']))}"
        f"</td><td>{row['count']:,}</td>"
        f"<td><code>{text_of(str(names['lines'][row['line']]['key']))}</code></td></tr>"
        for row in peak["lines"][:_LINES_SHOWN]
    )
    heads = "<tr><th>Held</th><th>of all</th><th>Blocks</th><th>Line</th></tr>"
    return f"<table><thead>{heads}</thead><tbody>{rows}</tbody></table>"
