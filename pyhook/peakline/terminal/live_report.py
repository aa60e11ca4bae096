"""A report on a running program: its position, its peak, its current memory. Prints nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.output import printable
from peakline.base.sizes import share_of, size_of
from peakline.recording.live_state import LiveState, duration_of, read_state
from peakline.terminal.report import text_of_report

if TYPE_CHECKING:
    from peakline._report import Options, Trace


def report_text(trace: Trace, options: Options) -> str:
    """Return the report as text. `options` are those of the table.

    Raises:
        peakline._report.TraceError: there is nothing to read yet.
    """
    state = read_state(trace, 0, 1)
    parts = [_head(state)]
    parts.append("At the peak\n" + text_of_report(trace, "table", options))
    now = "Now" if state.is_being_written else "At the end"
    at_end: Options = {**options, "at": "end"}
    parts.append(f"{now}\n" + text_of_report(trace, "table", at_end))
    return "\n".join(parts)


def report_document(trace: Trace, options: Options) -> dict[str, Any]:
    """Return the report as JSON: `state` as in `peakline live`, `peak` and `now` as tables."""
    state = asdict(read_state(trace, 0, 1))
    at_end: Options = {**options, "at": "end"}
    for unwanted in ("lines", "line_count", "levels"):
        del state[unwanted]
    return {
        "schema_version": 1,
        "file": state.pop("path"),
        "state": state,
        "peak": json.loads(trace.report("table", json=True, **options)),
        "now": json.loads(trace.report("table", json=True, **at_end)),
    }


def _head(state: LiveState) -> str:
    ran = duration_of(state.seconds)
    how = (
        f"process {state.pid}, recorded for {ran}"
        if state.is_being_written
        else f"ended after {ran}"
    )
    where = "" if state.step is None else f", step {state.step}"
    where += f", {printable(state.phase)}" if state.phase else ""
    peak_place = f", {printable(state.peak_place)}" if state.peak_place else ""
    simulated = " (simulated)" if state.is_simulated else ""
    device = f"{printable(state.device_name)}{simulated}"
    return (
        f"{printable(Path(state.path).name)}: {how}{where}; {device}\n"
        f"Holds  {size_of(state.level_bytes)}{_of_device(state.level_bytes, state)}\n"
        f"Peak   {size_of(state.peak_bytes)}{_of_device(state.peak_bytes, state)} after"
        f" {duration_of(state.peak_seconds)}{peak_place}\n"
    )


def _of_device(count: int, state: LiveState) -> str:
    if not state.device_bytes:
        return ""
    return f" ({share_of(count, state.device_bytes)} of {size_of(state.device_bytes)})"
