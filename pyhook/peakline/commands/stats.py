"""``peakline stats``: counts over the whole trace, not only its peak."""

from __future__ import annotations

import argparse

from peakline.commands import _common
from peakline.commands._parser import refuse_option

NAME = "stats"
HELP = "Show event counts, allocation sizes and the top allocators of the whole trace."
EXAMPLES = "peakline stats train.peak"

_TOP = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_file_arguments(parser)
    _common.add_grouping_arguments(parser)
    _common.add_measure_argument(parser)
    _common.add_output_arguments(parser, default_top=_TOP)
    for option in ("--at", "--device"):
        refuse_option(
            parser, option, f"stats counts the whole trace; peakline table {option} selects"
        )


def run(args: argparse.Namespace) -> int:
    """Print the statistics of each file."""
    options = _common.report_options(args, default_top=_TOP)
    _common.print_reports(
        args,
        lambda trace: trace.stats_json(**options) if args.json else trace.stats(**options),
    )
    _common.suggest(args, "table")
    return 0
