"""The data of a page as numpy arrays, and the colours and order of its categories.

report/render/page/page_columns.h defines the columns; the JSON beside them names and describes
them. Colours and stacking order are read from the page's own style and script.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from peakline._report import Trace

_ASSETS = Path(__file__).parents[1] / "page"


@dataclass(frozen=True)
class PageData:
    """One device of a trace: the decoded result of `Trace.page()`."""

    names: dict[str, Any]
    columns: dict[str, NDArray[np.int64]]

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time at which each point begins."""
        ticks = self.columns["point_begin"].astype(np.float64)
        return ticks * np.float64(self.names["tick_seconds"])

    @property
    def peaks(self) -> NDArray[np.int64]:
        """The highest level of each point, in bytes."""
        return self.columns["point_peak"] * int(self.names["byte_unit"])

    @property
    def category_levels(self) -> NDArray[np.int64]:
        """Bytes of each category (rows) at the highest moment of each point."""
        levels = self.columns["point_category"].reshape(len(self.names["categories"]), -1)
        return levels * int(self.names["byte_unit"])


def read_page(trace: Trace, **options: Any) -> PageData:
    """Read one device of a trace.

    Raises:
        peakline._report.TraceError: the trace has no events, or not this device.
    """
    text, data = trace.page(**options)
    names = json.loads(text)
    return PageData(names, _decoded(names["columns"], data))


def _decoded(columns: list[dict[str, Any]], data: bytes) -> dict[str, NDArray[np.int64]]:
    decoded = {}
    at = 0
    for column in columns:
        size = column["width"] * column["count"]
        planes = np.frombuffer(data, np.uint8, size, at).reshape(column["width"], -1)
        at += size
        numbers = np.zeros(column["count"], np.int64)
        for position, plane in enumerate(planes):
            numbers |= plane.astype(np.int64) << (8 * position)
        if column["coding"] != "plain":
            numbers = np.where(numbers & 1, -(numbers + 1) // 2, numbers // 2)
        decoded[column["name"]] = np.cumsum(numbers) if column["coding"] == "delta" else numbers
    return decoded


def category_colours() -> dict[str, str]:
    """Return the colour of each category on a light background."""
    style = (_ASSETS / "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6})", style)
    return {name.replace("-", " "): colour for name, colour in found}


def stacking_order(categories: list[str]) -> list[int]:
    """Return the categories in stacking order, from below."""
    script = (_ASSETS / "page.js").read_text(encoding="utf-8")
    found = re.search(r"const STACKING = (\[[^\]]+\])", script)
    order: list[str] = json.loads(found[1]) if found else []
    positions = {name: position for position, name in enumerate(order)}
    return sorted(
        range(len(categories)), key=lambda i: positions.get(categories[i], len(positions))
    )
