"""The step and the phase of a peak, in words; also of a peak after the last optimizer step."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from peakline.recording.live_state import place_at

if TYPE_CHECKING:
    from peakline._report import Trace

AFTER_TRAINING = "after the last optimizer step"
_TRAINING = ("backward", "optimizer")
# Functions on the stacks of blocks, as programs and libraries call them.
_KINDS = {
    "evaluation": re.compile(r"\((?:eval|\w*evaluat\w*|\w*valid\w*)\)"),
    "saving": re.compile(r"\(\w*(?:save|state_dict)\w*\)"),
}
_LEAST_SHARE = 0.05


def place_of_peak(trace: Trace, seconds: float, *, is_whole: bool) -> str:
    """Return the step and the phase of the peak, which was at this moment; '': unknown.

    Args:
        trace: the recording.
        seconds: of the peak.
        is_whole: the program ran to its end, so no step follows the last one.
    """
    phases = json.loads(trace.report("phases", json=True, device="all", top=1))
    place = place_at(phases, seconds)
    if not place or not is_whole or not _is_after_training(phases, seconds):
        return place
    # A forward pass without a backward pass behind it.
    kind = "evaluation" if place.endswith("forward") else _kind_by_stacks(trace)
    return f"{kind}, {AFTER_TRAINING}" if kind else AFTER_TRAINING


def _is_after_training(phases: dict[str, Any], seconds: float) -> bool:
    ends = [one["end_seconds"] for one in phases["phases"] if one["name"] in _TRAINING]
    has_stepped = any(one["name"] == "optimizer" for one in phases["phases"])
    return has_stepped and seconds > max(ends)


def _kind_by_stacks(trace: Trace) -> str:
    """Return the kind of work that made the most of what is live at the peak; '': no kind did."""
    table = json.loads(trace.report("table", json=True, by="stack", top=0))
    made = {
        kind: sum(row["bytes"] for row in table["rows"] if functions.search(row["key"]))
        for kind, functions in _KINDS.items()
    }
    most = max(made, key=lambda kind: made[kind])
    return most if made[most] >= _LEAST_SHARE * table["total_bytes"] else ""
