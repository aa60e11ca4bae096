"""``peakline stats``: counts over the whole trace, not only its peak."""

from __future__ import annotations

import argparse

from peakline.commands import _common

NAME = "stats"
HELP = "Show event counts, allocation sizes and the top allocators of the whole trace."

_TOP = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_trace_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the statistics of each file."""
    options = _common.report_options(args, default_top=_TOP)
    _common.print_reports(
        args,
        lambda trace: trace.stats_json(**options) if args.json else trace.stats(**options),
    )
    _common.suggest(args, "table")
    return 0
