"""``peakline ops``: the memory after every operator call, with marks of every iteration."""

from __future__ import annotations

import argparse

from peakline.commands import _common

NAME = "ops"
HELP = "Show the memory after every operator call, and which calls add most."
EXAMPLES = "peakline ops --top 50 train.peak"

_TOP = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_file_arguments(parser)
    _common.add_module_arguments(parser)
    _common.add_device_argument(parser)
    _common.add_output_arguments(parser, what="operator calls", default_top=_TOP)


def run(args: argparse.Namespace) -> int:
    """Print them for each file."""
    options = _common.report_options(args, default_top=_TOP)
    _common.print_named_reports(args, "ops", options)
    _common.suggest(args, "table --by op")
    return 0
