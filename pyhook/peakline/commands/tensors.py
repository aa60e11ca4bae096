"""``peakline tensors``: every block that is live at the peak, by itself."""

from __future__ import annotations

import argparse
import re

from peakline.commands import _common

NAME = "tensors"
HELP = "Show every tensor live at the peak: what it is, who made it, who freed it."
EXAMPLES = "peakline tensors --min 64MiB train.peak"

_TOP = 20
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _size(text: str) -> int:
    """Return the bytes of "512", "64K" or "1.5 MiB"."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size: 512, 64K, 1.5MiB ...")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_file_arguments(parser)
    _common.add_frame_arguments(parser)
    _common.add_module_arguments(parser)
    _common.add_moment_argument(parser)
    _common.add_device_arguments(parser)
    parser.add_argument(
        "--min",
        dest="min_bytes",
        type=_size,
        default=0,
        metavar="SIZE",
        help="Show only tensors of this size and larger (64K, 1MiB)",
    )
    _common.add_output_arguments(parser, what="tensors", default_top=_TOP)


def run(args: argparse.Namespace) -> int:
    """Print the tensors of each file."""
    options = _common.report_options(args, default_top=_TOP)
    options["min_bytes"] = args.min_bytes
    _common.print_named_reports(args, "tensors", options)
    _common.suggest(args, "table --by category")
    return 0
