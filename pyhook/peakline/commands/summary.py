"""``peakline summary``: what ran, its peaks, and the lines on top."""

from __future__ import annotations

import argparse

from peakline.commands import _common

NAME = "summary"
HELP = "Show what ran, the peak of each device, and the largest lines."
EXAMPLES = "peakline summary train.peak"

_TOP = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_trace_arguments(parser, default_top=_TOP)


def run(args: argparse.Namespace) -> int:
    """Print the summary of each file."""
    options = _common.report_options(args, default_top=_TOP)
    _common.print_reports(
        args,
        lambda trace: trace.summary_json(**options) if args.json else trace.summary(**options),
    )
    _common.suggest(args, "table")
    return 0
