"""``peakline table``: which lines hold the memory."""

from __future__ import annotations

import argparse

from peakline.commands import _common

NAME = "table"
HELP = "Show which lines hold the memory at the peak (or at another moment)."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_trace_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table of each file."""
    options = _common.report_options(args)
    _common.print_reports(
        args,
        lambda trace: trace.table_json(**options) if args.json else trace.table(**options),
    )
    next_by = "function" if args.by == "line" else "line"
    _common.suggest(args, f"table --by {next_by}")
    return 0
