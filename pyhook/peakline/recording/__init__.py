"""Traces as typed Python objects: ``peakline.open(path)``. `rows` has the classes of rows."""

from peakline.recording.event_batches import Event, EventBatch
from peakline.recording.events import Events
from peakline.recording.recording import Recording, open
from peakline.recording.reports import Report
from peakline.recording.rows import Location, StageRow, TableRow

__all__ = [
    "Event",
    "EventBatch",
    "Events",
    "Location",
    "Recording",
    "Report",
    "StageRow",
    "TableRow",
    "open",
]
