"""What ``peakline run`` prints when the program has ended: table, traces, next commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peakline._report as engine

# A file's time stamp may be a little older than the clock says.
_CLOCK_SLACK_SECONDS = 2.0
_PLACES_SHOWN = 8


@dataclass(frozen=True)
class _Recorded:
    path: Path
    trace: engine.Trace
    peak_bytes: int


def find_traces(run_id: str, output: str, started: float) -> list[Path]:
    """Return the trace files of one run, by the run id inside them, oldest first."""
    folder = Path(output).parent if output else Path()
    since = started - _CLOCK_SLACK_SECONDS
    return [path for path in sorted(folder.glob("*")) if _is_of_run(path, run_id, since)]


def _is_of_run(path: Path, run_id: str, since: float) -> bool:
    try:
        recent = path.is_file() and path.stat().st_mtime >= since
        return recent and engine.Trace(str(path)).info()["run_uuid"] == run_id
    except (OSError, engine.TraceError):
        return False


def report(run_id: str, output: str, started: float, top: int) -> None:
    """Print the table of the heaviest process and the way on, on stderr."""
    recorded = [_load(path) for path in find_traces(run_id, output, started)]
    if not recorded:
        _say("peakline: nothing was recorded: the program allocated no CUDA memory")
        return
    heaviest = max(recorded, key=lambda one: one.peak_bytes)
    _say("")
    if len(recorded) > 1:
        _say(f"{len(recorded)} processes recorded; the heaviest:")
    _say(heaviest.trace.table(top=top, cwd=str(Path.cwd())).rstrip("\n"))
    _say("")
    for one in recorded:
        _say(f"Wrote {one.path} ({_size(one.path.stat().st_size)})")
    name = heaviest.path
    _say(f"Next:  peakline table {name}              every line")
    _say(f"       peakline table --frame user {name}  only lines outside libraries")
    _say(f"       peakline summary {name}            the run at a glance")


def report_unmatched(run_id: str, output: str, started: float, rules: Sequence[str]) -> None:
    """Say which rules of --assume matched no value, and what there was to match."""
    traces = [engine.Trace(str(path)) for path in find_traces(run_id, output, started)]
    matched = {key for trace in traces for key in trace.info()["meta"]}
    unmatched = [rule for rule in rules if f"assumption_matched {rule}" not in matched]
    if not unmatched or not traces:
        return
    for rule in unmatched:
        _say(f"peakline: --assume {rule} matched no value that the program read")
    reads = [
        read for trace in traces for read in json.loads(trace.table_json(top=1))["value_reads"]
    ]
    places = dict.fromkeys(f"{_line_of(read)} ({read['operator'] or 'a copy'})" for read in reads)
    if places:
        names = ", ".join(list(places)[:_PLACES_SHOWN])
        more = f" and {len(places) - _PLACES_SHOWN} more" if len(places) > _PLACES_SHOWN else ""
        _say(f"peakline: it read values at {names}{more}")
    else:
        _say("peakline: it read no value that a simulated GPU does not have")


def _line_of(read: dict[str, Any]) -> str:
    line = read["library"] or read["location"]
    return f"{Path(line['file']).name}:{line['line']}" if line else str(read["key"])


def _load(path: Path) -> _Recorded:
    trace = engine.Trace(str(path))
    peaks = [int(device["peak_bytes"]) for device in trace.summary_data()["devices"]]
    return _Recorded(path, trace, max(peaks, default=0))


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MB"


def _say(text: str) -> None:
    print(text, file=sys.stderr)
