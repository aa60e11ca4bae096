"""``peakline timeline``: the level of memory over time."""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING

from peakline.commands import _common

if TYPE_CHECKING:
    from peakline._report import Options

NAME = "timeline"
HELP = "Draw the memory over time (instant, however large the trace)."
EXAMPLES = "peakline timeline train.peak"

_LABELS = 12  # columns beside the chart
_MAX_COLUMNS = 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    _common.add_file_arguments(parser)
    parser.add_argument(
        "--points",
        type=_point_count,
        metavar="N",
        help="Draw N points in time (default: one per column, 1000 with --json)",
    )
    parser.add_argument(
        "--device",
        metavar="N",
        help="Show this device: a number, or all for their sum (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="Print JSON")


def _point_count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of points (1 to 1000000)")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Print the timeline of each file."""
    points = args.points
    if points is None:
        columns = shutil.get_terminal_size().columns - _LABELS
        points = 1000 if args.json else max(20, min(_MAX_COLUMNS, columns))
    options: Options = {"top": points, "device": args.device or "all"}
    _common.print_named_reports(args, "timeline", options)
    _common.suggest(args, "table")
    return 0
