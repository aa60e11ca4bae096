"""Growth in a trace, in sentences: for the end of a run, `summary`, and the page."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from peakline.base.engine import report_engine
from peakline.base.files import here
from peakline.base.sizes import size_of

if TYPE_CHECKING:
    from peakline._report import Options, Trace

# Above this, the automatic lines would take seconds.
_MOST_EVENTS = 20_000_000
SHARE_SHOWN = 10  # a tenth of the peak: smaller growth is not reported automatically
# Certain growth has one of these units, but not "time", see `leaks --json`.
UNITS = {
    "step": ("step", "steps"),
    "pass": ("forward pass", "forward passes"),
    "generate": ("call of generate()", "calls of generate()"),
    "time": ("second", "seconds"),
}


def leaks_document(trace: Trace, options: Options) -> dict[str, Any]:
    """Return the report `leaks` without its findings."""
    asked: Options = {**options, "findings": False}
    document: dict[str, Any] = json.loads(trace.report("leaks", json=True, **asked))
    return document


def growth_of_file(path: str) -> tuple[list[str], dict[str, Any] | None]:
    """Return `growth_lines` of a trace, and the report `leaks` that they are from.

    No lines and None: it has no events or no time, or is too long to be looked at unasked.
    """
    engine = report_engine()
    with suppress(engine.TraceError):
        trace = engine.Trace(path)
        if int(trace.summary_data()["event_count"]) <= _MOST_EVENTS:
            document = leaks_document(trace, {"cwd": here()})
            return _lines_of(document), document
    return [], None


def growth_lines(trace: Trace, event_count: int) -> list[str]:
    """Return a sentence for each certain growth, for automatic output; empty if there is none.

    "grows 12.0 MB per step at train.py:31 losses.append(loss)"
    """
    if event_count > _MOST_EVENTS:
        return []
    return _lines_of(leaks_document(trace, {"cwd": here()}))


def _lines_of(document: dict[str, Any]) -> list[str]:
    found = (_of_program(document), _of_reserved(document), _of_inputs(document))
    return [sentence for sentence in found if sentence]


def _of_program(document: dict[str, Any]) -> str:
    """Return a sentence about the line that grew fastest and repeatedly, or ''."""
    rows = [row for row in document["growth"] if row["is_certain"]]
    if not rows:
        return ""
    more = len(rows) - 1
    also = f" (and {more} more line{'s' * (more != 1)})" if more else ""
    unit, units = UNITS[document["unit"]]
    every = int(rows[0]["steps_per_rise"])
    rises = f" (every {every} {units})" if every > 1 else ""
    size = size_of(rows[0]["bytes_per_step"])
    return f"grows {size} per {unit}{rises} at {location_of(rows[0])}{also}"


def _of_reserved(document: dict[str, Any]) -> str:
    growth = document["reserved_growth"]
    if growth is None or not growth["is_certain"]:
        return ""
    where = f"; made at {location_of(growth['rows'][0])}" if growth["rows"] else ""
    return (
        f"reserved memory grows from {size_of(growth['begin_bytes'])} to"
        f" {size_of(growth['end_bytes'])} while allocated is never above"
        f" {size_of(growth['allocated_bytes'])}, {growth['sentence']}{where}"
    )


def _of_inputs(document: dict[str, Any]) -> str:
    """Return a sentence about the line that rose most with its inputs, if it shows in the peak."""
    rows = document["follows_inputs"]
    row = max(rows, key=lambda one: int(one["total_bytes"]), default=None)
    if row is None or row["total_bytes"] * SHARE_SHOWN < document["peak_bytes"]:
        return ""
    where = str(row["key"]).split(" (")[0]
    return f"{row['sentence']} at {where}: it grows because its inputs do"


def location_of(row: dict[str, Any]) -> str:
    """Return the file and line of a row, and its code if it is known."""
    location = row["location"]
    if location is None or location["line"] is None or location["native"]:
        return str(row["key"])
    where = str(row["key"]).split(" (")[0]
    code = " ".join((location["code"] or "").split())
    return f"{where} {code}" if code else str(row["key"])
