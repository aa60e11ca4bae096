"""Watches the memory of a training run: the shared part of all callbacks.

It knows no trainer. No method raises: trouble is reported once and ends the watching, never the
training.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
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


def _nowhere() -> Iterable[KeepPage]:
    return ()


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
        self._phases: list[contextlib.ExitStack] = []

    def begin(self) -> None:
        """Make sure that the process is recorded; say why if that is impossible."""
        self.harmless(self._begin, None)

    def begin_training(self) -> None:
        """Count peaks from here."""
        self.begin()
        self.harmless(self._figures.restart, None)

    def begin_phase(self, name: str) -> None:
        """Begin a named part of the training, such as an epoch."""
        self.harmless(lambda: self._begin_phase(name), None)

    def end_phase(self) -> None:
        """End the part that began last."""
        self.harmless(self._end_phase, None)

    def end_phases(self) -> None:
        """End all parts that have begun."""
        while self._phases:
            self.end_phase()

    def begin_step(self, number: int) -> None:
        """Mark the beginning of a step."""
        self.harmless(lambda: tracing.step(f"step {number}"), None)

    def figures(self, step: int) -> dict[str, float]:
        """Return the figures at the end of a step, as names and numbers."""
        none: dict[str, float] = {}
        return self.harmless(lambda: self._figures.read(step), none)

    def end_training(
        self, *, is_main: bool = True, stores: Callable[[], Iterable[KeepPage]] = _nowhere
    ) -> None:
        """End the recording if it began here, and write the page.

        Args:
            is_main: this process logs for all ranks: it writes the page of its own trace.
            stores: returns functions that store the page in the trainer's loggers.
        """
        self.end_phases()
        self.harmless(lambda: self._end(is_main, stores), None)

    def harmless(self, work: Callable[[], Result], default: Result) -> Result:
        """Return the result of a part of the watching; the default if one failed."""
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

    def _begin_phase(self, name: str) -> None:
        opened = contextlib.ExitStack()
        opened.enter_context(tracing.phase(name))
        self._phases.append(opened)

    def _end_phase(self) -> None:
        if self._phases:
            self._phases.pop().close()

    def _end(self, is_main: bool, stores: Callable[[], Iterable[KeepPage]]) -> None:
        trace = self._recording.end()
        if not is_main:
            return
        if trace is None:
            logger().warning("the training allocated no GPU memory that is recorded")
        elif self._wants_page:
            _write_page(trace, stores)
        else:
            logger().info("recorded to %s", trace)


def _write_page(trace: Path, stores: Callable[[], Iterable[KeepPage]]) -> None:
    from peakline.base.files import trace_stem

    # Not the name of the page of `peakline run --html`, which shows the whole run.
    page = trace.with_name(f"{trace_stem(trace)}.training.html")
    if problem := _problem_of_page(trace, page):
        logger().warning("recorded to %s; its page is missing: %s", trace, problem)
        return
    logger().info("recorded to %s; the page of the training is %s", trace, page)
    for store in stores():
        store(page)


def _problem_of_page(trace: Path, page: Path) -> str:
    """Write the page; return the problem, or "". A process of its own needs none of our memory."""
    command = [sys.executable, "-m", "peakline", "html", str(trace), "-o", str(page), "--force"]
    made = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if made.returncode == 0:
        return ""
    last = made.stderr.strip().rpartition("\n")[2]
    return last.removeprefix("peakline: ") or f"peakline html ended with status {made.returncode}"
