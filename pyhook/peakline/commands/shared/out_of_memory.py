"""Finds the command that shows the cause of a refused request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from peakline.base.engine import report_engine

if TYPE_CHECKING:
    from peakline._report import Options

_FREE_AND_OF_NO_USE = ("fragmented", "pinned", "other_stream", "other_pool", "pieces")


def cause_of(document: dict[str, Any]) -> tuple[str, str]:
    """Return the command for the request of a document of ``oom --json``, and its description."""
    one = document["ooms"][0]
    at = "oom" if one["number"] == document["refused"] else f"oom@{one['number']}"
    missing = one["missing_bytes"]
    if one["reason"] in _FREE_AND_OF_NO_USE:
        return f"fragmentation --at {at}", "what keeps free memory from being used"
    if one["reason"] == "full" and (one["other_process_bytes"] or 0) >= missing > 0:
        return f"ledger --at {at}", "what holds the whole device"
    return f"table --at {at}", "every line that held memory then"


def command_after_oom(path: str, options: Options) -> str:
    """Return the next command after `peakline oom` of a file."""
    text = report_engine().Trace(path).report("oom", json=True, **{**options, "top": 1})
    command, _ = cause_of(json.loads(text))
    return command
