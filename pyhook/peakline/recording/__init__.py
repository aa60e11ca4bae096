"""Traces as typed Python objects: ``peakline.open(path)``."""

from peakline.recording.events import Event, EventBatch, Events, Frame
from peakline.recording.recording import Recording, Report, open_recording
from peakline.recording.rows import (
    AdviceRow,
    AllocatorRow,
    LayerRow,
    LedgerRow,
    Location,
    OperatorRow,
    PhaseRow,
    StageRow,
    TableRow,
    TensorRow,
    TimelinePoint,
)

__all__ = [
    "AdviceRow",
    "AllocatorRow",
    "Event",
    "EventBatch",
    "Events",
    "Frame",
    "LayerRow",
    "LedgerRow",
    "Location",
    "OperatorRow",
    "PhaseRow",
    "Recording",
    "Report",
    "StageRow",
    "TableRow",
    "TensorRow",
    "TimelinePoint",
    "open_recording",
]
