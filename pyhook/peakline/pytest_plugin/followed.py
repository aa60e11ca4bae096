"""A running test: its phases in the recording, and the checks of its limits.

Its call is a phase, without setup and teardown: `limit_gpu_memory` covers the memory in use while
the test itself runs. For `limit_gpu_leaks` two more phases mark its beginning and end.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import peakline
from peakline.api import torch_support
from peakline.pytest_plugin import checking, measuring
from peakline.pytest_plugin.limits import Limits
from peakline.pytest_plugin.notes import (
    FAILED,
    LEAKS,
    MEMORY,
    NOT_CHECKED,
    PEAK,
    SECTION,
    note,
    phase_of,
)
from peakline.pytest_plugin.options import Settings


class FollowedTest:
    """One run of a test."""

    def __init__(self, item: pytest.Item, limits: Limits, settings: Settings, run: int) -> None:
        """Name its phases."""
        self._item = item
        self._limits = limits
        self._settings = settings
        self._phase = phase_of(item.nodeid, run)
        self._allocs_before = measuring.alloc_count()
        self._levels_before: dict[int, int] | None = None  # by device; None before it begins
        self._uses: list[measuring.Use] | None = None  # of each device, None until read
        self._failure: BaseException | None = None  # because of limit_gpu_memory
        self._has_passed = False
        self._leaves_out = False  # True within leaving_out()
        self._begin = f"{self._phase} begins"
        self._end = f"{self._phase} has ended"

    def check_at_teardown(self) -> None:
        """Check the memory that the test leaves, at the end of its teardown.

        Note [When a test has ended]: memory that the fixtures of a test hold belongs to the test,
        and goes with them; gradients of a model that a fixture made are no leak. The moments are
        before the first fixture of scope "function" and after the teardown of the whole test, when
        fixtures of wider scope still exist, as at its beginning.
        """
        own_teardown = self._item.teardown

        def teardown() -> None:
            own_teardown()
            if self._has_passed:
                self._check_leaks()

        self._item.teardown = teardown  # type: ignore[method-assign]

    def forget(self) -> None:
        """Restore the test's own teardown."""
        vars(self._item).pop("teardown", None)

    def begin(self) -> None:
        """Store the level at the beginning of the test, once."""
        if self._limits.leaks and self._levels_before is None:
            with peakline.phase(self._begin):
                self._levels_before = _levels()

    @contextlib.contextmanager
    def leaving_out(self) -> Iterator[None]:
        """Exclude a fixture of wider scope that the running test requests."""
        if self._levels_before is None or self._leaves_out:
            yield
            return
        self._leaves_out = True
        before = _levels()
        try:
            yield
        finally:
            self._leaves_out = False
            for device, level in _levels().items():
                more = level - before.get(device, 0)
                self._levels_before[device] = self._levels_before.get(device, 0) + more

    def call(self) -> AbstractContextManager[None]:
        """Return the context in which the test runs."""
        return peakline.phase(self._phase)

    def check_memory(self) -> None:
        """Fail the test if more was in use than its limit."""
        if not self._limits.memory:
            return
        trace = measuring.trace_of_process()
        if trace is None:
            self._note_if_unseen()
            return
        uses = self._read_uses(trace)
        if not uses and measuring.alloc_count() > self._allocs_before:
            note(self._item, NOT_CHECKED, "the recording has no phase of this name")
        problem = checking.memory_problem(
            trace, self._phase, uses, self._limits.memory, self._settings
        )
        if not problem and self._settings.fail_on_increase:
            problem = checking.increase_problem(uses, self._item)
        if problem:
            self._failure = pytest.fail.Exception(problem, pytrace=False)
            raise self._failure

    def complete(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
        """Add the memory use of its call to the report, if something reads it."""
        self._has_passed = report.passed
        # A unittest keeps its own failure until now, and that one counts.
        failure = call.excinfo.value if call.excinfo else None
        if report.failed and failure is not None and failure is self._failure:
            note(self._item, FAILED, MEMORY)
        # Reading the recording takes time.
        is_wanted = bool(self._limits or self._item.config.getoption("xmlpath", None))
        if report.failed or (is_wanted and measuring.alloc_count() > self._allocs_before):
            self._add_use(report)
        report.user_properties = list(self._item.user_properties)

    def _add_use(self, report: pytest.TestReport) -> None:
        trace = measuring.trace_of_process()
        uses = self._read_uses(trace) if trace else []
        if trace is None or not any(use.peak_bytes for use in uses):
            return
        highest = max(uses, key=lambda use: use.peak_bytes)
        note(self._item, PEAK, highest.peak_bytes)
        if report.failed and FAILED not in dict(self._item.user_properties):
            shown = checking.shown_of(self._settings)
            lines = measuring.lines_at_peak(trace, self._phase, highest.device, shown)
            report.sections.append((SECTION, checking.text_of_use(highest, lines)))

    def _check_leaks(self) -> None:
        growth = self._growth()
        trace = measuring.trace_of_process()
        if trace is None:
            self._note_if_unseen()
            return
        if not growth:
            return
        with peakline.phase(self._end):
            pass
        part = checking.Part(trace, self._begin, self._end, growth)
        for limit in self._limits.leaks:
            problem = checking.leak_problem(part, limit, self._settings)
            if problem:
                note(self._item, FAILED, LEAKS)
                pytest.fail(problem, pytrace=False)

    def _growth(self) -> dict[int, int]:
        """Return the growth in bytes of each device; empty if no limit can be exceeded.

        Memory held only by a reference cycle does not count: the collector chooses when it goes.
        """
        least = min(limit.bytes for limit in self._limits.leaks)
        if sum(self._more_than_before().values()) <= least:
            return {}
        # pytest releases these values right after this.
        getattr(self._item, "funcargs", {}).clear()
        gc.collect()
        return self._more_than_before()

    def _more_than_before(self) -> dict[int, int]:
        before = self._levels_before or {}
        more = {device: level - before.get(device, 0) for device, level in _levels().items()}
        return {device: count for device, count in more.items() if count > 0}

    def _read_uses(self, trace: Path) -> list[measuring.Use]:
        """Return each device's use during the call, which has ended."""
        if self._uses is None:
            self._uses = measuring.uses_of_phases(trace).get(self._phase, [])
        return self._uses

    def _note_if_unseen(self) -> None:
        """Note that nothing was checked if torch uses a GPU that is not recorded."""
        if measuring.recorder_that_is_on() is None and torch_support.cuda_is_initialised():
            note(self._item, NOT_CHECKED, peakline.status().note or "the recorder is off")


def _levels() -> dict[int, int]:
    """Return the level of each device in bytes; empty before CUDA is initialised."""
    if measuring.recorder_that_is_on() is None:
        return {}
    count = torch_support.device_count()
    return {device: measuring.level_bytes(device) for device in range(count)}
