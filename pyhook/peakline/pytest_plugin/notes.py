"""Names that the parts of the plugin share, and notes of a test for its reports.

Notes are properties of a test: they reach the printing process, and the JUnit file.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MEMORY = "limit_gpu_memory"
LEAKS = "limit_gpu_leaks"
MARKERS = (
    f"{MEMORY}(size, *, device=None): fail a test when more GPU memory is in use while it runs:"
    ' "24 GB"',
    f"{LEAKS}(size, *, device=None, filter_fn=None): fail a test that leaves more GPU memory"
    " allocated than it found",
)
SECTION = "GPU memory (peakline)"

FAILED = "peakline_failed"  # the marker's name
NOT_CHECKED = "peakline_not_checked"  # the reason
PEAK = "peakline_peak_bytes"

_LONGEST_NAME = 400  # bytes
_KEPT_OF_NAME = 80  # characters
_LATER_RUN = re.compile(r" \(run \d+\)$")


def note(item: pytest.Item, name: str, value: object) -> None:
    """Note something about a test; replaces an older note of this name."""
    others = [one for one in item.user_properties if one[0] != name]
    item.user_properties[:] = [*others, (name, value)]


def forget_notes(item: pytest.Item) -> None:
    """Remove the notes of an earlier run of a test."""
    ours = (FAILED, NOT_CHECKED, PEAK)
    item.user_properties[:] = [one for one in item.user_properties if one[0] not in ours]


def phase_of(test: str, run: int = 1) -> str:
    """Return the name of the phase of a test; a test may run several times.

    The recorder cuts long names, which could make two equal.
    """
    if len(test.encode()) > _LONGEST_NAME:
        test = f"{test[:_KEPT_OF_NAME]}... {hashlib.sha256(test.encode()).hexdigest()[:16]}"
    return test if run == 1 else f"{test} (run {run})"


def phase_of_first_run(phase: str) -> str:
    """Return the name of the phase of the first run of the same test."""
    return _LATER_RUN.sub("", phase)
