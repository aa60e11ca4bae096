"""The summary at the end of pytest: the tests with the highest peaks, and unchecked tests.

Runs in the process that prints. The tests may have run in others (workers of pytest-xdist, forked
ones): each has a trace in one folder, and its phases have the names of the tests.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from peakline.base.output import printable
from peakline.pytest_plugin.notes import (
    FAILED,
    LEAKS,
    MEMORY,
    NOT_CHECKED,
    SECTION,
    phase_of,
    phase_of_first_run,
)
from peakline.pytest_plugin.starting import WHY_NOT, folder_of_traces, was_started

if TYPE_CHECKING:
    import pytest

    from peakline.pytest_plugin.measuring import Use
    from peakline.pytest_plugin.options import Settings

_LINES = 5  # lines of each test
# The stage in which a test fails because of a marker.
_FAILS_IN = {MEMORY: "call", LEAKS: "teardown"}


class _Test(NamedTuple):
    """The run of a test with the highest need."""

    name: str
    trace: Path
    phase: str
    use: Use


class Summary:
    """Collects reports, and prints at the end."""

    def __init__(self, settings: Settings) -> None:
        """Begin without tests."""
        self._settings = settings
        self._tests: dict[str, str] = {}  # by name of the phase
        self._not_checked: dict[str, set[str]] = {}  # reason to tests

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the names of the tests of all workers."""
        if report.when == "setup":
            self._tests[phase_of(report.nodeid)] = report.nodeid
        why = dict(report.user_properties).get(NOT_CHECKED)
        if why is not None:
            self._not_checked.setdefault(str(why), set()).add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print the tests with the highest peaks."""
        lines = self._notes(config)
        if was_started() and not self._settings.hide_summary:
            lines = [*self._heaviest(), *lines]
        if lines:
            terminalreporter.ensure_newline()
            terminalreporter.section(SECTION)
        for line in lines:
            terminalreporter.write_line(printable(line))

    def _notes(self, config: pytest.Config) -> list[str]:
        lines = []
        why_not = config.stash.get(WHY_NOT, "")
        if why_not:
            lines.append(f"Nothing was recorded: {why_not}")
        for why, tests in self._not_checked.items():
            of = f"The limits of {len(tests)} tests were"
            if len(tests) == 1:
                of = "The limits of one test were"
            lines.append(f"{of} not checked: {why}")
        return lines

    def _heaviest(self) -> list[str]:
        tests = self._measured()
        if not tests:
            return ["No test used the GPU."]
        most = self._settings.most or len(tests)
        lines = [line for test in tests[:most] for line in self._lines_of(test)]
        if most < len(tests):
            lines.append(f"{most} of {len(tests)} tests that used the GPU (--peakline-most 0: all)")
        return lines

    def _measured(self) -> list[_Test]:
        """Return the tests that allocated, the highest peak first."""
        from peakline.pytest_plugin.measuring import uses_of_phases

        found: dict[str, _Test] = {}
        for trace in _traces():
            for phase, uses in uses_of_phases(trace).items():
                name = self._tests.get(phase_of_first_run(phase))
                used = [use for use in uses if use.alloc_count]
                if name is None or not used:
                    continue
                test = _Test(name, trace, phase, max(used, key=lambda use: use.peak_bytes))
                other = found.get(name)
                if other is None or other.use.peak_bytes < test.use.peak_bytes:
                    found[name] = test
        return sorted(found.values(), key=lambda test: -test.use.peak_bytes)

    def _lines_of(self, test: _Test) -> list[str]:
        from peakline.base.sizes import size_of
        from peakline.pytest_plugin.measuring import Shown, lines_at_peak

        use = test.use
        where = f" (device {use.device})" if use.device else ""
        counts = f"{use.alloc_count:,} allocations of {size_of(use.allocated_bytes)} in all"
        if use.alloc_count == 1:
            counts = "1 allocation"
        if use.begin_bytes:
            counts += f", {size_of(use.begin_bytes)} were in use before"
        shown = Shown(_LINES, self._settings.stacks, self._settings.native)
        held = lines_at_peak(test.trace, test.phase, use.device, shown)
        return [
            f"{size_of(use.peak_bytes)}  {test.name}{where}",
            f"    {counts}",
            *(f"    {line}" for line in held),
        ]


def status_of(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
    """Return the display of a test that failed because of a marker."""
    marker = dict(getattr(report, "user_properties", ())).get(FAILED)
    if not report.failed or report.when is None or _FAILS_IN.get(str(marker)) != report.when:
        return None
    return ("failed" if report.when == "call" else "error"), "M", "GPU MEMORY"


def _traces() -> list[Path]:
    """Return the traces of this run."""
    from peakline.launch.trace_files import find_traces

    pattern = str(folder_of_traces() / "*.peak")
    return find_traces(os.environ["PEAKLINE_RUN_ID"], pattern, started=0)
