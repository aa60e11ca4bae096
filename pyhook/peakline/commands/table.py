"""``peakline table``: which lines hold the memory."""

from __future__ import annotations

import argparse

from peakline.commands import _common

NAME = "table"
HELP = "Show the lines (or modules, tensors, phases) that hold the memory at its peak."
EXAMPLES = (
    "peakline table train.peak\n"
    "peakline table --by category --at backward train.peak\n"
    "peakline table --by module --fold train.peak"
)


# After rows by this key; any other key leads to the lines.
_NEXT = {"line": "table --by category", "category": "tensors"}


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
    _common.suggest(args, _NEXT.get(args.by, "table"))
    return 0
