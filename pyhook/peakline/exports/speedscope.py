"""Speedscope's own format: a sampled profile in bytes.

Source of the format: https://www.speedscope.app/file-format-schema.json. Samples are blocks in
allocation order, each with its stack, root first: "time order" shows how memory grew up to the
moment, "left heavy" and "sandwich" show what holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from peakline.base.device_names import name_of_device
from peakline.base.output import json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peakline.exports.asked import Asked
    from peakline.recording import Location, Recording

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write the blocks that are live at a moment."""
    tensors = recording.tensors(**asked.of_moment())
    frames = Frames()
    blocks = sorted(tensors, key=lambda one: one.allocated_seconds)
    samples = [frames.ids(one.create_stack) for one in blocks]
    weights = [one.bytes for one in blocks]
    moment = tensors.document["at"]
    document = {
        "$schema": SCHEMA,
        "exporter": "peakline",
        "name": recording.path.name,
        "activeProfileIndex": 0,
        "shared": {"frames": frames.list},
        "profiles": [
            {
                "type": "sampled",
                "name": f"live at {moment}, {name_of_device(tensors.document['device'])}",
                "unit": "bytes",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }
    out.write(json_text(document).encode())


class Frames:
    """The frames of a file, each listed once."""

    def __init__(self) -> None:
        """Make an empty list."""
        self.list: list[dict[str, Any]] = []
        self._ids: dict[Location | None, int] = {}

    def ids(self, stack: Sequence[Location]) -> list[int]:
        """Return the numbers of the frames, root first; an empty stack gets one placeholder."""
        return [self._id(frame) for frame in reversed(stack)] or [self._id(None)]

    def _id(self, frame: Location | None) -> int:
        known = self._ids.setdefault(frame, len(self.list))
        if known == len(self.list):
            self.list.append(_entry(frame))
        return known


def _entry(frame: Location | None) -> dict[str, Any]:
    if frame is None:
        return {"name": "no stack"}
    entry: dict[str, Any] = {"name": frame.qualified_name or frame.function or frame.file}
    if frame.file:
        entry["file"] = frame.file
    if frame.line:
        entry["line"] = frame.line
    return entry
