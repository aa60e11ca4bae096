"""``peakline diff``: what one run holds more or less than another."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.commands.shared import common, report_options

if TYPE_CHECKING:
    from peakline._report import Options
    from peakline.differences.side import Side

NAME = "diff"
HELP = "What a run holds more or less than another: before and after a change, real and simulated."
EXAMPLES = (
    "peakline diff before.peak after.peak\n"
    "peakline diff --by module before.peak after.peak\n"
    "peakline diff --phases base.summary.json after.peak"
)
_TOP = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    for name in ("before", "after"):
        parser.add_argument(
            name,
            metavar=name.upper(),
            help="Trace file, or a summary that `peakline pack --summary` wrote",
        )
    report_options.add_grouping(parser)
    report_options.add_where(parser)
    report_options.add_moment(parser)
    report_options.add_device(parser)
    report_options.add_every_measure(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--phases", action="store_true", help="Compare the highest peak within each phase"
    )
    what.add_argument(
        "--total", action="store_true", help="Compare what was allocated over the whole run"
    )
    report_options.add_top(parser, "rows that differ", _TOP)
    parser.add_argument("--json", action="store_true", help="Print JSON, by default with all rows")


def run(args: argparse.Namespace) -> int:
    """Print the differences."""
    from peakline.differences.compare import compare, document_of
    from peakline.differences.text import comparison_text

    options = report_options.report_options(args, _TOP)
    options["width"] = 0
    sides = [load_side(path, args, options) for path in (args.before, args.after)]
    comparison = compare(*sides)
    what = "phases" if args.phases else "total" if args.total else args.at
    if args.json:
        print(json.dumps(document_of(comparison, by=args.by, compared=what), indent=2))
        return 0
    titles = {"phases": "Highest peak of a phase", "total": "Allocated over the run"}
    title = titles.get(what, "Peak" if what == "peak" else f"At {what}")
    width = common.terminal_width(sys.stdout)
    top = args.top if args.top is not None else _TOP

    def shorten(text: str, used: int) -> str:
        return common.shortened(text, max(width - used, 20) if width else 0)

    print(comparison_text(comparison, title, top, shorten), end="")
    if not any(path.endswith(".json") for path in (args.before, args.after)):
        words = common.shell_words([args.before, args.after])
        sys.stdout.flush()
        print(common.next_commands([(f"html {words} -o both.html", "")]), file=sys.stderr)
    return 0


def load_side(path: str, args: argparse.Namespace, options: Options) -> Side:
    """Return what is compared of a file.

    Raises:
        CommandError: it cannot be read, or has not what is asked for.
    """
    from peakline.differences import side, summary

    engine = common.report_engine()
    try:
        if summary.is_summary(path):
            return _side_of_summary(path, args)
        from peakline.recording import Recording

        recording = Recording(path)
        if args.phases:
            only: Options = {"device": args.device}
            return side.phases_of_trace(recording, **only)
        if args.total:
            return side.allocated_of_trace(recording, **_without_moment(options))
        return side.side_of_trace(recording, **options)
    except (engine.TraceError, summary.SummaryError) as error:
        raise common.CommandError(str(error)) from error


def _without_moment(options: Options) -> Options:
    wanted = options.copy()
    wanted.pop("at", None)
    wanted.pop("measure", None)
    wanted.pop("where", None)
    return wanted


def _side_of_summary(path: str, args: argparse.Namespace) -> Side:
    from peakline.differences import summary

    has_all = args.by == "line" and args.at == "peak" and args.measure == "allocated"
    if args.total or (not args.phases and (not has_all or args.where)):
        raise common.CommandError(
            f"{path}: a summary has the lines of the peak, and phases: give both traces"
        )
    read = summary.read_summary(path)
    name = str(Path(path))
    if args.phases:
        return summary.phases_of_summary(read, name)
    return summary.side_of_summary(read, name)
