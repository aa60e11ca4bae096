"""Shows growth in commands: the exit code of `leaks`, lines below `summary`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from peakline.base.engine import report_engine
from peakline.base.output import write_lines
from peakline.recording.growth import growth_of_file, leaks_document

if TYPE_CHECKING:
    from peakline._report import Options


def growth_status(args: argparse.Namespace, options: Options) -> int:
    """Return 1 if --fail-on-growth is given and something grows in one of the files."""
    if not args.fail_on_growth:
        return 0
    return int(any(_has_growth(path, options) for path in args.files))


def _has_growth(path: str, options: Options) -> bool:
    document = leaks_document(report_engine().Trace(path), {**options, "top": 0})
    reserved = document["reserved_growth"]
    # Fragments come from inputs of different sizes, and torch frees them before it runs out of
    # memory.
    is_kept = reserved and reserved["is_certain"] and reserved["cause"] != "fragments"
    return any(not row["is_slow"] for row in document["growth"]) or bool(is_kept)


def print_growth(args: argparse.Namespace) -> None:
    """Print certain growth in each file, below a report."""
    for path in args.files if not args.json else []:
        name = f"{path}: " if len(args.files) > 1 else ""
        lines, _ = growth_of_file(path)
        write_lines(*(f"{name}{line[0].upper()}{line[1:]}" for line in lines))
