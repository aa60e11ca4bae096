"""Watches the memory of a training run: what the callbacks of all trainers share.

It knows no trainer. No method raises: trouble is reported once and ends the watching, never the
training.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from peakline.api import tracing
from peakline.api.log import logger
from peakline.base.faults import sentence_of, shows_traceback
from peakline.integrations.figures import Figures
from peakline.integrations.recording import ProcessRecording

Result = TypeVar("Result")
KeepPage = Callable[[Path], None]  # stores the page where a logger keeps files


class Watch:
    """The figures, phases, steps and page of one training run in this process."""

    def __init__(self, *, lines: int = 5, output: str = "", page: bool = True) -> None:
        """Prepare.

        Args:
            lines: number of the largest lines at the peak in the figures; 0: none.
            output: name of the trace if the recording begins here, with the placeholders of
                ``peakline run -o``.
            page: write the HTML page when the training ends.
        """
        self._is_off = False
        self._recording = ProcessRecording(output)
        self._figures = Figures(lines)
        self._wants_page = page
        self._phases = contextlib.ExitStack()

    def begin(self) -> None:
        """Make sure that the process is recorded; say why if that is impossible."""
        self._harmless(self._begin, None)

    def begin_training(self) -> None:
        """Count peaks from here."""
        self.begin()
        self._harmless(self._figures.restart, None)

    def begin_phase(self, name: str) -> None:
        """Begin a named part of the training, such as an epoch."""
        self._harmless(lambda: self._phases.enter_context(tracing.phase(name)), None)

    def end_phases(self) -> None:
        """End all parts that have begun."""
        self._harmless(self._phases.close, None)

    def begin_step(self, number: int) -> None:
        """Mark the beginning of a step."""
        self._harmless(lambda: tracing.step(f"step {number}"), None)

    def figures(self, step: int) -> dict[str, float]:
        """Return the figures at the end of a step, as names and numbers."""
        none: dict[str, float] = {}
        return self._harmless(lambda: self._figures.read(step), none)

    def end_training(self, *, is_main: bool = True, keep: Iterable[KeepPage] = ()) -> None:
        """End the recording if it began here, and write the page.

        Args:
            is_main: this process logs for all ranks: it writes the page of its own trace.
            keep: functions that store the page in the trainer's loggers.
        """
        self.end_phases()
        self._harmless(lambda: self._end(is_main, keep), None)

    def _harmless(self, work: Callable[[], Result], default: Result) -> Result:
        if self._is_off:
            return default
        try:
            return work()
        except Exception as error:
            if shows_traceback():
                raise
            self._is_off = True
            logger().warning("memory is no longer logged: %s", sentence_of(error))
            return default

    def _begin(self) -> None:
        why_not = self._recording.begin()
        if why_not:
            self._is_off = True
            logger().warning("nothing is recorded: %s", why_not)

    def _end(self, is_main: bool, keep: Iterable[KeepPage]) -> None:
        trace = self._recording.end()
        if not is_main:
            return
        if trace is None:
            logger().warning("the training allocated no GPU memory that is recorded")
        elif self._wants_page:
            _write_page(trace, keep)
        else:
            logger().info("recorded to %s", trace)


def _write_page(trace: Path, keep: Iterable[KeepPage]) -> None:
    from peakline.base.files import trace_stem
    from peakline.pages.making import make_file
    from peakline.pages.options import PageOptions

    # Another name than that of `peakline run --html`, whose page is of the whole run.
    page = trace.with_name(f"{trace_stem(trace)}.training.html")
    make_file(PageOptions([str(trace)], str(page), force=True))
    logger().info("recorded to %s; the page of the training is %s", trace, page)
    for store in keep:
        store(page)
