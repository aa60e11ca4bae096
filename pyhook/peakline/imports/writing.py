"""Helpers of all importers for the traces that they write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peakline._report import TraceWriter

TICK_NS = 128
PLAIN_FREE = 0
ONE_MOMENT = "one_moment"  # meta key of a snapshot without actions; need_time() reads it
# format::MarkKind
TRACING_STARTED, PHASE_BEGIN, PHASE_END = 1, 3, 4
_MAIN_END, _PROCESS_END = 8, 7


class UnreadableError(ValueError):
    """A file does not have the form that it seems to have; the text explains."""


def end_trace(writer: TraceWriter, tick: int) -> None:
    """End a trace as if the program ran to its end."""
    writer.mark(tick, _MAIN_END, 0)
    writer.mark(tick, _PROCESS_END, 0)
    writer.finish()


def plain_text(value: object) -> str:
    """Return text that a trace can hold: UTF-8 without zeros."""
    return str(value).replace("\0", "").encode(errors="replace").decode()
