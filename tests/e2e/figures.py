"""One figure everywhere: whatever two views of a trace share is equal, to the byte.

Each figure of a view is held against that of another, computed its own way.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peakline
from checks import median_of
from peakline._report import Trace, TraceError

KEYS = ("line", "module", "op", "category")
# Larger traces are left out: every figure of them costs a pass over their events.
_MOST_EVENTS = 200_000


@dataclass(frozen=True)
class Views:
    """All views of one device of a trace."""

    trace: Trace
    device: Any
    # Allocations while nothing was traced, or after main: `stats` counts them, and `timeline`
    # draws their level.
    has_untraced: bool

    def of(self, name: str, **options: Any) -> Any:
        text = self.trace.report(name, json=True, top=0, device=self.device, **options)
        return json.loads(text)

    def outline(self) -> Any:
        return json.loads(self.trace.outline(device=self.device))

    def page(self) -> Any:
        return json.loads(self.trace.page(device=self.device)[0])

    @property
    def is_gpu(self) -> bool:
        return isinstance(self.device, int)


def same(figures: Mapping[str, Any]) -> None:
    """Fail unless all views say the same."""
    first = next(iter(figures.values()))
    assert all(one == first for one in figures.values()), figures


def of_device(document: Any, device: Any) -> Any:
    return next(one for one in document["devices"] if one["device"] == device)


def held(rows: list[Any], name: str = "key") -> dict[str, tuple[int, int]]:
    """Return bytes and blocks by key."""
    return {row[name]: (row["bytes"], row["count"]) for row in rows if row["bytes"]}


def _check_peak_and_total(one: Views) -> None:
    table, summary, page = one.of("table"), one.of("summary"), one.page()
    tensors, outline, stats = one.of("tensors"), one.outline(), one.of("stats")
    totals = of_device(summary, one.device)["allocated"]
    same(
        {
            "table": table["peak_bytes"],
            "table's total": table["total_bytes"],
            "table's devices": of_device(table, one.device)["peak_bytes"],
            **({} if one.has_untraced else {"timeline": one.of("timeline")["peak_bytes"]}),
            "summary": totals["peak_bytes"],
            "phases": of_device(one.of("phases"), one.device)["peak_bytes"],
            "tensors": tensors["peak_bytes"],
            "sum of tensors": sum(row["bytes"] for row in tensors["tensors"]),
            "leaks": one.of("leaks")["peak_bytes"],
            "layers": one.of("layers")["peak_bytes"],
            "outline": outline["chosen"]["peak_bytes"],
            "page": page["peak"]["bytes"],
            "sum of the page's categories": sum(page["peak"]["categories"]),
            "sum of the page's lines": sum(row["bytes"] for row in page["peak"]["lines"]),
        }
    )
    same(
        {
            "table": table["peak_seconds"],
            "summary": totals["peak_seconds"],
            "outline": outline["chosen"]["peak_seconds"],
            "page": page["peak"]["seconds"],
        }
    )
    same(
        {
            "table": table["total_allocated_bytes"],
            "summary": totals["total_allocated_bytes"],
            "outline": outline["chosen"]["total_allocated_bytes"],
            "page": page["total_allocated_bytes"],
            **({} if one.has_untraced else {"stats": _bytes_of_stats(one, stats)}),
        }
    )
    same(
        {
            "summary": totals["live_at_end_bytes"],
            "phases": of_device(one.of("phases"), one.device)["level_bytes"],
        }
    )


def _bytes_of_stats(one: Views, stats: Any) -> int:
    """Return the bytes of this device: `stats` counts all together, but for a key."""
    rows = json.loads(one.trace.report("stats", json=True, top=0, by="device"))["by_bytes"]
    name = f"device {one.device}" if one.is_gpu else one.device
    assert sum(row["bytes"] for row in rows) == sum(row["bytes"] for row in stats["by_bytes"])
    return sum(row["bytes"] for row in rows if row["key"] == name)


def _check_keys(one: Views) -> None:
    outline, page, tensors = one.outline(), one.page(), one.of("tensors")["tensors"]
    for key in KEYS:
        table = one.of("table", by=key)
        same(
            {
                "table": held(table["rows"]),
                "summary": held(one.of("summary", by=key)["table"]["rows"]),
                "outline": held(outline["rows"][key]),
                "tensors": summed(tensors, "made_at" if key == "line" else key),
            }
        )
    by_category = {row["key"]: row["bytes"] for row in one.of("table", by="category")["rows"]}
    levels = zip(page["categories"], page["peak"]["categories"], strict=True)
    assert {name: level for name, level in levels if level} == by_category
    lines = {
        page["lines"][row["line"]]["key"]: (row["bytes"], row["count"])
        for row in page["peak"]["lines"]
    }
    assert lines == held(one.of("table")["rows"])


def summed(tensors: list[Any], key: str) -> dict[str, tuple[int, int]]:
    sums: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for one in tensors:
        size, count = sums[one[key]]
        sums[one[key]] = (size + one["bytes"], count + 1)
    return dict(sums)


def _check_duration_and_counts(one: Views) -> None:
    summary, outline, page = one.of("summary"), one.outline(), one.page()
    same(
        {
            "summary": summary["duration_seconds"],
            "outline": outline["duration_seconds"],
            "stats": one.of("stats")["duration_seconds"],
        }
    )
    same({"summary": summary["event_count"], "page": page["event_count"]})
    same({name: one.of(name)["too_low"] for name in ("table", "phases", "leaks", "stats")})


def _check_medians(one: Views) -> None:
    sizes: dict[str, list[int]] = defaultdict(list)
    for tensor in one.of("tensors")["tensors"]:
        sizes[tensor["made_at"]].append(tensor["bytes"])
    for row in one.of("table")["rows"]:
        assert row["median_bytes"] == median_of(sizes[row["key"]]), row["key"]


def _check_reserved(one: Views) -> None:
    if not one.is_gpu:
        return
    try:
        at_end = one.of("fragmentation", at="end")
        whatif = one.of("whatif")
    except TraceError:
        return  # another allocator than torch's own: no segments
    table = one.of("table", measure="reserved")
    same(
        {
            "table": table["peak_bytes"],
            "timeline": one.of("timeline", measure="reserved")["peak_bytes"],
            "whatif": whatif["recorded_reserved_peak_bytes"],
            "sum of rows": sum(row["bytes"] for row in table["rows"]),
        }
    )
    same(
        {
            "table": one.of("table", measure="reserved", at="end")["total_bytes"],
            "fragmentation": at_end["reserved_bytes"],
        }
    )


def views_of(path: Path) -> list[Views]:
    """Return the views of each device of a trace."""
    trace = Trace(str(path))
    devices = json.loads(trace.report("table", json=True))["devices"]
    has_untraced = _has_untraced(path)
    return [Views(trace, one["device"], has_untraced) for one in devices]


def _has_untraced(path: Path) -> bool:
    is_traced = False
    for event in peakline.open(path).events():
        if event.kind in ("tracing_started", "tracing_stopped", "main_end"):
            is_traced = event.kind == "tracing_started"
        elif event.kind == "alloc" and not is_traced:
            return True
    return False


def check_figures(path: Path) -> None:
    """Fail unless all views of a trace that holds all its events say the same figures."""
    trace = Trace(str(path))
    document = json.loads(trace.report("summary", json=True))
    if not document["complete"] or not 0 < document["event_count"] < _MOST_EVENTS:
        return
    for one in views_of(path):
        for check in CHECKS:
            check(one)


CHECKS = (
    _check_peak_and_total,
    _check_keys,
    _check_duration_and_counts,
    _check_medians,
    _check_reserved,
)
