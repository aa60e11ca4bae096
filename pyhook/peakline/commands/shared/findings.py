"""Finds the fault that the end of a run reports by itself."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from peakline.base.engine import report_engine
from peakline.base.files import here
from peakline.base.sizes import size_of
from peakline.recording.growth import SHARE_SHOWN, location_of

if TYPE_CHECKING:
    from peakline._report import Trace


def fault_line(trace: Trace, event_count: int) -> str:
    """Return the largest fault that holds a tenth of the peak, as a sentence; '' for none.

    "640.0 MB of the peak: values are kept on the device from pass to pass at eval.py:11"
    """
    if event_count > report_engine().MOST_EVENTS_UNASKED:
        return ""
    document: dict[str, Any] = {"advice": []}
    with suppress(report_engine().TraceError):  # the trace did not keep the events of the peak
        document = json.loads(trace.report("advise", json=True, cwd=here()))
    for one in document["advice"]:
        size = one["saves_bytes"] or one["held_bytes"]
        if one["kind"] == "fault" and size * SHARE_SHOWN >= document["peak_bytes"]:
            title = f"{one['title'][0].lower()}{one['title'][1:]}"
            where = f" at {location_of(one)}" if one["key"] else ""
            return f"{size_of(size)} of the peak: {title}{where}"
    return ""
