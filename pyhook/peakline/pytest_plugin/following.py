"""The hooks around each test. A followed test is a `FollowedTest`.

Without ``--peakline`` only tests with a marker are followed. For the others the hooks only read the
markers, and import nothing that following needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from peakline.pytest_plugin.notes import LEAKS, MEMORY, NOT_CHECKED, forget_notes, note
from peakline.pytest_plugin.options import Settings
from peakline.pytest_plugin.starting import WHY_NOT, OwnRecording, was_started

if TYPE_CHECKING:
    from peakline.pytest_plugin.followed import FollowedTest
    from peakline.pytest_plugin.limits import Limits

_FOLLOWED: pytest.StashKey[FollowedTest] = pytest.StashKey()


class Following:
    """The hooks around each test."""

    def __init__(self, settings: Settings) -> None:
        """Begin without a followed test."""
        self._settings = settings
        self._own = OwnRecording(settings)
        self._runs: Counter[str] = Counter()
        self._current: FollowedTest | None = None

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Read the markers of a test, and make sure that it is recorded."""
        has_marker = any(marker.name in (MEMORY, LEAKS) for marker in item.iter_markers())
        if not has_marker and not was_started():
            return
        from peakline.pytest_plugin.followed import FollowedTest

        forget_notes(item)
        limits = _limits_of(item)
        if not was_started():
            self._own.begin()
            why_not = item.config.stash.get(WHY_NOT, "") or self._own.why_not
            if why_not:
                note(item, NOT_CHECKED, why_not)
                return
        self._runs[item.nodeid] += 1
        followed = FollowedTest(item, limits, self._settings, self._runs[item.nodeid])
        item.stash[_FOLLOWED] = self._current = followed
        if limits.leaks:
            followed.check_at_teardown()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Store the level before the first fixture of the test itself; exclude wider fixtures."""
        followed = self._current
        if followed is None:
            return (yield)
        if request.scope == "function":
            followed.begin()
            return (yield)
        with followed.leaving_out():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Run a test as a phase, and check its limits."""
        followed = item.stash.get(_FOLLOWED, None)
        if followed is None:
            return (yield)
        followed.begin()
        with followed.call():
            result = yield
        followed.check_memory()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add its memory use to the report of a test, if something reads it."""
        report = yield
        followed = item.stash.get(_FOLLOWED, None)
        if followed is not None and call.when == "call":
            followed.complete(report, call)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Forget a test; another run of it begins anew."""
        try:
            return (yield)
        finally:
            self._current = None
            followed = item.stash.get(_FOLLOWED, None)
            if followed is not None:
                followed.forget()
                del item.stash[_FOLLOWED]

    def pytest_sessionfinish(self) -> None:
        """Close the recording of this process."""
        self._own.end()


def _limits_of(item: pytest.Item) -> Limits:
    """Return the limits of a test; a wrong marker fails the test."""
    from peakline.pytest_plugin.limits import MarkerError, limits_of

    try:
        return limits_of(item)
    except MarkerError as error:
        problem = str(error)
    pytest.fail(problem, pytrace=False)
