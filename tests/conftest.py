"""Which tests are long (long.py), take no warm processes (e2e/warm_popen.py), or run first.

All workers of pytest-xdist share the warm processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).with_name("e2e")))

from lab import Lab, folder_of_session  # noqa: E402
from long import is_long  # noqa: E402
from warm_popen import ENDED, WarmPopen, Warmth  # noqa: E402

# Every program of these is a new process: they test what happens as Python starts or ends, below
# the script's own frame, without torch, or what a program can see of its process.
COLD = {
    "test_first_without_gil",
    "test_harmless",
    "test_holders",
    "test_holders_threads",
    "test_run_ends",
    "test_shared_memory",
    "test_signal_reports",
    "test_simulated_files",
    "test_simulated_values",
    "test_tensor_types",
    "test_transparent_ends",
    "test_transparent_view",
    "test_unseen",
}
# They take minutes: begun last, one worker would run while the others wait.
FIRST = (
    "test_installed",
    "test_families",
    "test_fleet_cluster",
    "test_pytest_plugin",
    "test_programs",
    "test_python_stacks",
    "test_run_ranks",
    "test_pytest_limits",
    "test_ways_in",
    "test_whatif",
    "test_own_files",
    "test_ranks",
    "test_processes",
    "test_fit",
    "test_instructions",
    "test_trainers",
)
_CHOICE = os.environ.get("PEAKLINE_TEST_WARM")  # for all files


def _is_warm(file: Path) -> bool:
    return _CHOICE == "all" if _CHOICE else file.stem not in COLD


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_long(item.nodeid):
            item.add_marker(pytest.mark.long)
    order = {name: at for at, name in enumerate(FIRST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(FIRST)))


def _folder_of(factory: pytest.TempPathFactory) -> Path:
    return folder_of_session(factory.getbasetemp()) / "warm"


@pytest.fixture(scope="session")
def _warmth(tmp_path_factory: pytest.TempPathFactory) -> Warmth:
    folder = _folder_of(tmp_path_factory)
    folder.mkdir(exist_ok=True)
    lab = Lab(sys.executable, tmp_path_factory.getbasetemp())
    warmth = Warmth(folder, lab.environment(None))
    warmth.hold()
    return warmth


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name the warm processes that ended before the session: a test must have killed them."""
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    notes = _folder_of(factory) / ENDED
    if notes.exists():
        terminalreporter.write_sep("=", "warm processes that ended", yellow=True)
        terminalreporter.write(notes.read_text())


@pytest.fixture(scope="module", autouse=True)
def _warm_processes(request: pytest.FixtureRequest, _warmth: Warmth) -> Iterator[None]:
    WarmPopen.warmth = _warmth if _is_warm(request.path) else None
    yield
    WarmPopen.warmth = None
