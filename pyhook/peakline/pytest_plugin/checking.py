"""Checks tests against their limits and returns problems as text; `following.py` fails the test."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.base.output import joined
from peakline.base.sizes import size_of
from peakline.pytest_plugin.limits import LeakLimit, MemoryLimit
from peakline.pytest_plugin.measuring import (
    Device,
    Left,
    Shown,
    Use,
    left_between,
    lines_at_peak,
    lines_of_left,
    uses_of_phases,
)
from peakline.pytest_plugin.stacks import Stack, StackFrame

if TYPE_CHECKING:
    import pytest

    from peakline.pytest_plugin.options import Settings

_LINES = 10  # shown for a test that failed because of a marker
_LEAK_FRAMES = 5  # at least: one line seldom shows which code kept a tensor
_ALL_LINES_FROM = 2  # verbosity
_SENTENCE_BELOW = -1


@dataclass(frozen=True)
class Part:
    """A test with its fixtures: the phases at its beginning and end, and the growth between."""

    trace: Path
    begin: str
    end: str
    growth: dict[int, int]  # by device


def shown_of(settings: Settings) -> Shown:
    """Return the amount of detail for a failed test."""
    lines = 0 if settings.verbosity >= _ALL_LINES_FROM else _LINES
    return Shown(lines, settings.stacks, settings.native)


def text_of_use(use: Use, lines: list[str]) -> str:
    """Return the memory in use, for a test that failed by itself."""
    return _with_lines(f"{size_of(use.peak_bytes)}{_on(use.device)} were in use", lines)


def memory_problem(
    trace: Path, phase: str, uses: list[Use], limits: tuple[MemoryLimit, ...], settings: Settings
) -> str:
    """Return a sentence if a test exceeds a limit, else ''. `uses`: by device."""
    for limit in limits:
        of_sum = limit.device == "all"
        seen = uses_of_phases(trace, "all").get(phase, []) if of_sum else uses
        for use in seen:
            is_meant = limit.device in (None, use.device)
            if is_meant and use.peak_bytes > limit.bytes:
                return _over(trace, phase, use, limit, settings)
    return ""


def increase_problem(uses: list[Use], item: pytest.Item) -> str:
    """Return a sentence if a test needs more than in its last successful run, and store its need.

    Memory in use before the test is left out: it depends on the earlier tests.
    """
    cache = getattr(item.config, "cache", None)
    if cache is None:
        return ""
    needed = max((use.own_bytes for use in uses), default=0)
    # A test id may hold "..", which a path of a cache file must not.
    key = f"peakline/{hashlib.sha256(item.nodeid.encode()).hexdigest()[:32]}"
    before = cache.get(key, None)
    if isinstance(before, int) and needed > before:
        return (
            f"{size_of(needed)} of GPU memory were needed, {size_of(before)} in the last"
            f" successful run ({needed - before:,} bytes more)"
        )
    cache.set(key, needed)
    return ""


def leak_problem(part: Part, limit: LeakLimit, settings: Settings) -> str:
    """Return a sentence if a test left more than its limit, else ''.

    An allocation that replaces a freed one is not left: the level has not grown.
    """
    for device, growth in _growth_of(part, limit.device).items():
        if growth <= limit.bytes:
            continue
        left = left_between(part.trace, part.begin, part.end, device)
        counted = [one for one in left if _counts(one, limit)]
        total = min(growth, sum(one.bytes for one in counted))
        if total > limit.bytes:
            text = (
                f"{size_of(total)} of GPU memory{_on(device)} were left allocated,"
                f" {size_of(limit.bytes)} are allowed"
            )
            shown = shown_of(settings)
            frames = max(shown.frames, _LEAK_FRAMES)
            return _problem(text, lines_of_left(counted, Shown(shown.lines, frames)), settings)
    return ""


def _growth_of(part: Part, device: Device | None) -> dict[Device, int]:
    if device == "all":
        return {device: sum(part.growth.values())}
    return {one: count for one, count in part.growth.items() if device in (None, one)}


def _counts(left: Left, limit: LeakLimit) -> bool:
    if limit.filter_fn is None:
        return True
    frames = (
        StackFrame(one.qualified_name or one.function, one.file, one.line or 0)
        for one in left.frames
    )
    return limit.filter_fn(Stack(tuple(frames)))


def _over(trace: Path, phase: str, use: Use, limit: MemoryLimit, settings: Settings) -> str:
    text = (
        f"{size_of(use.peak_bytes)} of GPU memory{_on(use.device)} were in use,"
        f" {size_of(limit.bytes)} are allowed"
    )
    if use.begin_bytes:
        text += f" ({size_of(use.begin_bytes)} were in use before the test)"
    lines = lines_at_peak(trace, phase, use.device, shown_of(settings))
    return _problem(text, lines, settings)


def _problem(text: str, lines: list[str], settings: Settings) -> str:
    return joined([text]) if settings.verbosity < _SENTENCE_BELOW else _with_lines(text, lines)


def _with_lines(text: str, lines: list[str]) -> str:
    return joined([f"{text}:", *(f"    {line}" for line in lines)])


def _on(device: Device) -> str:
    if device == 0:
        return ""
    return " of all devices" if device == "all" else f" of device {device}"
