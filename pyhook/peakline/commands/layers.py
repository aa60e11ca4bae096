"""``peakline layers``: what every module holds, and the peaks while it runs."""

from __future__ import annotations

import argparse

from peakline.commands import _common

NAME = "layers"
HELP = "Show what every module holds, and the peaks while it runs."
EXAMPLES = "peakline layers --fold train.peak"

_TOP = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_file_arguments(parser)
    _common.add_module_arguments(parser)
    _common.add_device_argument(parser)
    _common.add_output_arguments(parser, what="layers", default_top=_TOP)


def run(args: argparse.Namespace) -> int:
    """Print them for each file."""
    options = _common.report_options(args, default_top=_TOP)
    _common.print_named_reports(args, "layers", options)
    _common.suggest(args, "table --by module")
    return 0
