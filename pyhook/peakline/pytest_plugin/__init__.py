"""The plugin for pytest: GPU memory of each test, limits of it, and memory that tests leave behind.

``pytest --peakline`` starts itself again under `peakline run`, on a simulated GPU if there is no
real one. It ends with the tests of the highest peaks and the lines that hold them. The markers
``limit_gpu_memory`` and ``limit_gpu_leaks`` also work without the option if there is a GPU. A run
without option and marker imports no native library and records nothing. See docs/pytest.md.
"""

from __future__ import annotations

import pytest

from peakline.pytest_plugin.following import Following
from peakline.pytest_plugin.notes import MARKERS
from peakline.pytest_plugin.options import Settings, add_options
from peakline.pytest_plugin.stacks import Stack, StackFrame
from peakline.pytest_plugin.starting import start_again, was_started
from peakline.pytest_plugin.summary import Summary, status_of

__all__ = ["Stack", "StackFrame"]

# With these options pytest only lists, without running tests.
_LISTINGS = ("help", "version", "markers", "collectonly", "showfixtures", "show_fixtures_per_test")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, on the command line and in the configuration file."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers and the hooks around tests."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    settings = Settings.of(config)
    config.pluginmanager.register(Following(settings), "peakline-following")
    config.pluginmanager.register(Summary(settings), "peakline-summary")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Start pytest again, recorded; returns its exit status."""
    settings = Settings.of(config)
    lists_only = any(getattr(config.option, one, False) for one in _LISTINGS)
    if not settings.is_recording or was_started() or lists_only:
        return None
    return start_again(config, settings)


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """Show a test that failed because of a marker as M."""
    return status_of(report)
