"""``peakline stages``: the memory before and after modules, backward passes and steps."""

from __future__ import annotations

import argparse

from peakline.commands import _common

NAME = "stages"
HELP = "Show the memory before and after every module, backward pass and optimizer step."
EXAMPLES = "peakline stages --top 3 train.peak"

_TOP = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_file_arguments(parser)
    _common.add_module_arguments(parser)
    _common.add_device_argument(parser)
    _common.add_output_arguments(parser, what="steps", default_top=_TOP)


def run(args: argparse.Namespace) -> int:
    """Print them for each file."""
    options = _common.report_options(args, default_top=_TOP)
    _common.print_named_reports(args, "stages", options)
    _common.suggest(args, "phases")
    return 0
