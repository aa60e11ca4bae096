"""The first screen of a closed trace is what the recorder knew; it equals what the events say."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import peakline._report as engine
import pytest
from lab import Lab

SUPERBLOCK, CHUNK, SUMMARY = 4096, 256 * 1024, 3
PROGRAMS = (
    ("memory_features.py",),  # several streams, reset peaks, deferred frees
    ("ends_main.py", "module"),
    ("ends_how.py", "oom-caught"),
    ("traced_range.py", "under-run", "report"),
    ("late_start.py", "api"),
    ("train_model.py", "two_devices"),
)


def without_summary(trace: Path) -> bytes:
    """Return the trace as a recorder would have left it that writes no SUMMARY at the end."""
    data = bytearray(trace.read_bytes())
    for at in range(SUPERBLOCK, len(data), CHUNK):
        if struct.unpack_from("<H", data, at + 4)[0] == SUMMARY:
            data[at : at + 128] = bytes(128)
    return bytes(data)


def first_screen(trace: engine.Trace, measure: str) -> list[dict[str, Any]]:
    reports = (trace.report(name, json=True, measure=measure) for name in ("table", "summary"))
    return [json.loads(report) for report in reports]


@pytest.mark.parametrize("program", PROGRAMS, ids=" ".join)
def test_the_first_screen_is_that_of_the_events(lab: Lab, program: tuple[str, ...]) -> None:
    device = "h200x2" if "two_devices" in program else "h200"
    trace = lab.once(*program, device=device).trace
    recorded = engine.Trace(trace.read_bytes())
    events = engine.Trace(without_summary(trace))
    for measure in ("allocated", "requested"):
        assert first_screen(recorded, measure) == first_screen(events, measure)
