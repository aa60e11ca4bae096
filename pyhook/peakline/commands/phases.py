"""``peakline phases``: forward, backward, optimizer and the rest, step by step."""

from __future__ import annotations

import argparse

from peakline.commands import _common

NAME = "phases"
HELP = "Show the peak and the levels of every phase of every step."
EXAMPLES = "peakline phases --top 0 train.peak"

_TOP = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_file_arguments(parser)
    _common.add_device_arguments(parser)
    _common.add_output_arguments(parser, what="steps", default_top=_TOP)


def run(args: argparse.Namespace) -> int:
    """Print the phases of each file."""
    options = _common.report_options(args, default_top=_TOP)
    _common.print_named_reports(args, "phases", options)
    _common.suggest(args, "table --at forward")
    return 0
