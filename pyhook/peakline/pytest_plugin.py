"""The plugin for pytest: GPU memory of each test, and limits.

``pytest --peakline`` starts itself again under `peakline run`, on a simulated GPU where there is
none, and ends with the tests of the highest peaks and the lines that hold them. Then a test marked
``@pytest.mark.limit_gpu_memory("24 GB")`` fails when more is in use while it runs. Each test is a
phase of the recording. Nothing of this happens without ``--peakline``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from peakline.sizes import size_of

_STARTED = "PEAKLINE_PYTEST"  # the folder of the traces, in the process that is recorded
_MARKER = "limit_gpu_memory"
_LINES = 5  # of each test
_TESTS = 5


@dataclass(frozen=True)
class _Peak:
    """The most that was in use while a test ran, and what held it."""

    test: str
    bytes: int
    lines: list[str]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("peakline", "GPU memory of tests, recorded by peakline")
    group.addoption(
        "--peakline",
        action="store_true",
        help="Record GPU memory, check limit_gpu_memory, name the tests with the highest peaks",
    )
    group.addoption(
        "--peakline-most",
        type=int,
        default=_TESTS,
        metavar="N",
        help=f"Name this many tests (0: all; default: {_TESTS})",
    )
    group.addoption(
        "--peakline-simulate",
        default="",
        metavar="DEVICE",
        help="Simulate this device (default: h200 where there is no GPU)",
    )
    group.addoption(
        "--peakline-traces",
        default="",
        metavar="FOLDER",
        help="Keep the recordings in this folder (default: they are removed)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker, and follow the tests of a process that is recorded."""
    config.addinivalue_line(
        "markers",
        f'{_MARKER}(size): with --peakline, fail when more GPU memory is in use: "24 GB"',
    )
    if config.getoption("peakline") and os.environ.get(_STARTED):
        config.pluginmanager.register(_Recorded(config), "peakline-recorded")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Start pytest again, recorded; return how that ended."""
    if not config.getoption("peakline") or os.environ.get(_STARTED) or config.option.help:
        return None
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    kept = config.getoption("peakline_traces")
    with tempfile.TemporaryDirectory(prefix="peakline-pytest-") as scratch:
        folder = Path(kept or scratch).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        # What is removed need not be named.
        quiet = "-q" if kept else "-qq"
        command = [sys.executable, "-m", "peakline", "run", quiet, *_device(config)]
        command += ["-o", str(folder / "pytest.%p.peak"), "-m", "pytest"]
        environment = {**os.environ, _STARTED: str(folder)}
        words = [str(word) for word in config.invocation_params.args]
        return subprocess.run(
            [*command, *words], env=environment, cwd=config.invocation_params.dir, check=False
        ).returncode


def _device(config: pytest.Config) -> list[str]:
    from peakline.devices import missing_device

    asked = config.getoption("peakline_simulate")
    if not asked and not missing_device():
        return []
    return ["--simulate", asked or "h200"]


class _Recorded:
    """Follows the tests of this process, and gathers those of the workers of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._most = config.getoption("peakline_most")
        self._worker = getattr(config, "workeroutput", None)
        self._names: dict[str, str] = {}  # phase: test
        self._peaks: list[_Peak] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Run a test as a phase, and hold it against its limit."""
        import peakline

        name = f"test {len(self._names) + 1}"
        self._names[name] = item.nodeid
        limit = _limit_of(item)
        with peakline.phase(name):
            result = yield
        if limit is not None:
            peak = _peak_of(name, item.nodeid)
            if peak is not None and peak.bytes > limit:
                pytest.fail(_over(peak, limit), pytrace=False)
        return result

    def pytest_sessionfinish(self) -> None:
        """Read the peaks of all tests of this process."""
        peaks = _peaks_of(self._names)
        peaks.sort(key=lambda one: -one.bytes)
        self._peaks += peaks[: self._most] if self._most else peaks
        if self._worker is not None:
            self._worker["peakline"] = [asdict(one) for one in self._peaks]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker of pytest-xdist has found."""
        found = getattr(node, "workeroutput", {}).get("peakline", [])
        self._peaks += [_Peak(**one) for one in found]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the tests with the highest peaks."""
        terminalreporter.section("GPU memory (peakline)")
        if not self._peaks:
            terminalreporter.write_line("No test used the GPU.")
            return
        self._peaks.sort(key=lambda one: -one.bytes)
        for peak in self._peaks[: self._most] if self._most else self._peaks:
            terminalreporter.write_line(f"{size_of(peak.bytes)}  {peak.test}")
            for line in peak.lines:
                terminalreporter.write_line(f"    {line}")


def _limit_of(item: pytest.Item) -> int | None:
    """Return the bytes of the closest marker of a test.

    Raises:
        pytest.UsageError: it has no size, or what is none.
    """
    marker = item.get_closest_marker(_MARKER)
    if marker is None:
        return None
    import argparse

    from peakline.commands.shared.report_options import size

    try:
        return size(str(marker.args[0]))
    except (IndexError, argparse.ArgumentTypeError) as error:
        raise pytest.UsageError(f'{_MARKER} takes a size, "24 GB": {error}') from None


def _trace() -> Path | None:
    """Return this process's own recording; None before it used the GPU."""
    from peakline.tracing import RecorderError, recorder_that_is_on

    try:
        path: str = recorder_that_is_on("the plugin for pytest").trace_path()
    except RecorderError:
        return None
    return Path(path) if path else None


def _peak_of(phase: str, test: str) -> _Peak | None:
    """Return the peak within a phase of the recording that goes on."""
    import peakline
    from peakline._report import TraceError

    trace = _trace()
    if trace is None:
        return None
    try:
        table = peakline.open(trace).table(during=phase, top=_LINES)
    except TraceError:  # nothing was allocated by then
        return None
    lines = [f"{size_of(row.bytes)}  {row.key}" for row in table]
    return _Peak(test, table.document["total_bytes"], lines)


def _peaks_of(names: dict[str, str]) -> list[_Peak]:
    """Return the tests that had memory in use; the lines of the highest ones only."""
    import peakline
    from peakline._report import TraceError

    trace = _trace()
    if trace is None:
        return []
    try:
        phases = peakline.open(trace).phases()
    except TraceError:
        return []
    highest = {
        one.name: one.peak_bytes for one in phases if one.name in names and one.peak_bytes > 0
    }
    order = sorted(highest, key=lambda name: -highest[name])
    peaks = []
    for place, name in enumerate(order):
        found = _peak_of(name, names[name]) if place < 2 * _TESTS else None
        peaks.append(found or _Peak(names[name], highest[name], []))
    return peaks


def _over(peak: _Peak, limit: int) -> str:
    lines = "\n".join(f"    {line}" for line in peak.lines)
    return (
        f"{size_of(peak.bytes)} of GPU memory were in use, {size_of(limit)} are allowed:\n{lines}"
    )
