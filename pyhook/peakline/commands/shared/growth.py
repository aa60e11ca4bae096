"""What grows in a trace, beyond the report: the exit code, and the line at the end of a run."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from peakline.commands.shared.common import here, report_engine
from peakline.pages.source_lines import read_unchanged
from peakline.sizes import size_of

if TYPE_CHECKING:
    from peakline._report import Options, Trace

# Beyond this a line that nobody asked for would take seconds.
_MOST_EVENTS = 20_000_000


def growth_status(args: argparse.Namespace, options: Options) -> int:
    """Return 1 when --fail-on-growth is given and something grows in one of the files."""
    if not args.fail_on_growth:
        return 0
    return int(any(_has_growth(path, options) for path in args.files))


def _has_growth(path: str, options: Options) -> bool:
    document = _leaks(report_engine().Trace(path), {**options, "top": 0})
    return any(not row["is_slow"] for row in document["growth"])


def _leaks(trace: Trace, options: Options) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(trace.report("leaks", json=True, **options))
    return document


def growth_line(trace: Trace, event_count: int) -> str:
    """Return what to say unasked: the line that grew fastest in each of the last steps, or ''.

    "grows 12.0 MB per step at train.py:31 losses.append(loss)"
    """
    if event_count > _MOST_EVENTS:
        return ""
    document = _leaks(trace, {"cwd": here()})
    rows = [row for row in document["growth"] if row["is_certain"]]
    if not rows:
        return ""
    more = len(rows) - 1
    also = f" (and {more} more line{'s' * (more != 1)})" if more else ""
    unit = "call of generate()" if document["unit"] == "generate" else "step"
    size = size_of(rows[0]["bytes_per_step"])
    every = int(rows[0]["steps_per_rise"])
    steps = f" (every {every} {unit.replace('call', 'calls', 1)}{'s' * (unit == 'step')})"
    rises = steps if every > 1 else ""
    return f"grows {size} per {unit}{rises} at {_place(rows[0], trace)}{also}"


def _place(row: dict[str, Any], trace: Trace) -> str:
    """Return the file and line of a row, and its code where the file is as it was."""
    location = row["location"]
    if location is None or location["line"] is None or location["native"]:
        return str(row["key"])
    lines = read_unchanged(location["file"], int(trace.info()["start_realtime_ns"]))
    number = int(location["line"])
    code = " ".join(lines[number - 1].split()) if number <= len(lines) else ""
    place = str(row["key"]).split(" (")[0]
    return f"{place} {code}" if code else str(row["key"])
