"""pytorch_mem_tracer: the table of lines at the peak.

Use ``import peakline.compat.pytorch_mem_tracer as mem_tracer``. It has the functions of `peakline`
itself, and the patterns of `start_tracing`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import peakline
from peakline import stop_tracing, switch_allocator

__all__ = ["report_stats", "start_tracing", "stop_tracing", "switch_allocator"]

_patterns: list[re.Pattern[str]] = []


def start_tracing(patterns: Sequence[str] = ()) -> None:
    """Begin a traced part.

    Args:
        patterns: regular expressions to search in file paths. The innermost line of a matching
            file represents each stack.
    """
    _patterns[:] = map(re.compile, patterns)
    peakline.start_tracing()


def report_stats() -> None:
    """Print the table of the lines that hold memory at the peak."""
    if not _patterns:
        peakline.report_stats()
        return
    from peakline.compat.line_table import print_table

    print_table(lambda file: any(one.search(file) for one in _patterns))
