"""``peakline html``: the run as a page for the browser, in one file."""

from __future__ import annotations

import argparse

from peakline.base.next_commands import suggest_for
from peakline.base.output import write_lines
from peakline.commands.shared import report_options
from peakline.commands.shared.folders import ALL
from peakline.pages.making import make_file
from peakline.pages.options import TABS, PageOptions

NAME = "html"
HELP = "Write a page for the browser: lines, flame graph, timeline. The page is one file."
EXAMPLES = (
    "peakline html train.peak\n"
    "peakline html train.peak -o report.html --no-source\n"
    "peakline html train.peak --tab flame\n"
    "peakline html before.peak after.peak -o both.html\n"
    "peakline html --each rank0.peak rank1.peak -o ranks.html"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="Trace file (.peak, or packed .peak.zst), or the folder of a run; of several the page"
        " shows the one with the highest peak, and compares all: ranks of a job, runs before and"
        " after a change (default: the newest run in this folder)",
    )
    parser.set_defaults(folder_gives=ALL, folder=None)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="Write this file (default: FILE with .html)"
    )
    parser.add_argument("-f", "--force", action="store_true", help="Replace an existing page")
    parser.add_argument(
        "--no-source",
        action="store_true",
        help="Leave out the lines of your program that the page would show",
    )
    parser.add_argument(
        "--tab",
        choices=TABS,
        default="summary",
        help="Open the page at this tab (default: summary)",
    )
    parser.add_argument(
        "--each",
        action="store_true",
        help="Of several files: show each of them in full; the tab Ranks opens them",
    )
    parser.add_argument(
        "--from",
        dest="from_seconds",
        type=float,
        default=0.0,
        metavar="S",
        help="Show the run from this second of the trace on",
    )
    parser.add_argument(
        "--to",
        dest="to_seconds",
        type=float,
        default=float("inf"),
        metavar="S",
        help="Show the run up to this second",
    )
    parser.add_argument(
        "--budget",
        type=_megabytes,
        default=8.0,
        metavar="MB",
        help="Keep as many moments of the run as fit in MB, compressed (default: 8)",
    )
    report_options.add_frames(parser)
    parser.add_argument(
        "--native",
        action="store_true",
        help="Show the native frames below the innermost Python line, too",
    )
    report_options.add_device(parser)
    report_options.add_measure(parser)
    report_options.refuse_where(parser)


def _megabytes(text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size in MB (up to 1000)")
    return size


def run(args: argparse.Namespace) -> int:
    """Write the page, and print its name."""
    output, shown = make_file(_options_of(args))
    write_lines(f"Wrote {output} ({output.stat().st_size / 1e6:.1f} MB); open it in a browser")
    suggest_for(shown, "table --by category")
    return 0


def _options_of(args: argparse.Namespace) -> PageOptions:
    return PageOptions(
        files=args.files,
        output=args.output or "",
        folder=args.folder,
        force=args.force,
        has_source=not args.no_source,
        tab=args.tab,
        from_seconds=args.from_seconds,
        to_seconds=args.to_seconds,
        budget_megabytes=args.budget,
        each=args.each,
        report=report_options.named_options(args),
    )
