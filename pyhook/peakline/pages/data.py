"""The data of a page as numpy arrays.

report/render/page/page_columns.h defines the columns; the JSON beside them names and describes
them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from peakline._report import Trace


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
