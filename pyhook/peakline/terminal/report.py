"""The table of a trace: laid out where the stream is a terminal; rich is loaded only then."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from peakline.base.output import write_report
from peakline.terminal.terminal import terminal_of

if TYPE_CHECKING:
    from peakline._report import Options, Trace

_END = "the program was killed or interrupted:"  # as the engine begins its note


def show_table(trace: Trace, stream: TextIO, options: Options, *, says_end: bool = True) -> None:
    """Write the table of a trace: in columns on a terminal, else in its literal form.

    Where the caller has said how the program ended, `says_end` is false.
    """
    terminal = terminal_of(stream)
    if terminal is None:
        lines = trace.report("table", **options).splitlines(keepends=True)
        write_report("".join(line for line in lines if says_end or _END not in line), stream)
    else:
        from peakline.terminal.table import show_parts

        parts = dict(trace.parts("table", **options))
        parts["notes"] = [one for one in parts["notes"] if says_end or _END not in one["text"]]
        show_parts("table", parts, terminal, "")
