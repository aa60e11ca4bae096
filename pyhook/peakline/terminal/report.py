"""Writes a report of a trace to a stream, or returns it as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from peakline.text.document import plain_text, write_document
from peakline.text.terminal import terminal_of

if TYPE_CHECKING:
    from peakline._report import Options, Trace

_END = "the program was killed or interrupted:"  # the beginning of the engine's note


def show_report(
    trace: Trace, name: str, stream: TextIO, options: Options, *, says_end: bool = True
) -> None:
    """Write a report of a trace: in columns on a terminal, else in its plain form.

    `says_end` is false if the caller has already reported the end of the program.
    """
    document = trace.document(name, **options)
    if not says_end:
        elements = document["elements"]
        document["elements"] = [one for one in elements if _END not in one.get("text", "")]
    write_document(document, stream, terminal_of(stream))


def text_of_report(trace: Trace, name: str, options: Options) -> str:
    """Return the plain form of a report."""
    return plain_text(trace.document(name, **options))
