"""``peakline diff``: how much more or less one run holds than another."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError
from peakline.base.next_commands import next_commands, shell_words, shortener, terminal_width
from peakline.base.output import say, write_json, write_lines
from peakline.commands.shared import report_options
from peakline.commands.shared.pairs import Pair, chosen_pair, paired, pairs_text
from peakline.recording.reports import ROWS_OF_DIFFERENCES

if TYPE_CHECKING:
    from peakline.differences.side import Side

NAME = "diff"
HELP = "Compare two runs, such as before and after a change. Real and simulated runs compare, too."
EXAMPLES = (
    "peakline diff before.peak after.peak\n"
    "peakline diff --by module before.peak after.peak\n"
    "peakline diff --phases base.summary.json after.peak\n"
    "peakline diff simulated.peak real.peak"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    for name in ("before", "after"):
        parser.add_argument(
            name,
            metavar=name.upper(),
            help="Trace file, summary that `peakline pack --summary` wrote, or folder of a run",
        )
    parser.add_argument(
        "--rank",
        type=int,
        metavar="R",
        help="For two folders: compare this rank (default: the largest change of the peak)",
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
    report_options.add_top(parser, "rows that differ", ROWS_OF_DIFFERENCES)
    parser.add_argument("--json", action="store_true", help="Print JSON, by default with all rows")


def run(args: argparse.Namespace) -> int:
    """Print the differences."""
    from peakline.differences.compare import compare, document_of
    from peakline.differences.text import comparison_text

    found = paired(args.before, args.after)
    pairs = found if isinstance(found, list) else []
    if isinstance(found, list):
        pair = chosen_pair(pairs, args.rank)
        args.before, args.after = pair.before, pair.after
    else:
        if args.rank is not None:
            raise CommandError("--rank: give two folders of runs that have ranks")
        args.before, args.after = found
    before, after = (_side_of(path, args) for path in (args.before, args.after))
    comparison = compare(before, after)
    what = "phases" if args.phases else "total" if args.total else args.at
    if args.json:
        document = document_of(comparison, by=args.by, compared=what)
        if pairs:
            document |= {"rank": pair.rank, "ranks": [_rank_of(one) for one in pairs]}
        write_json(document, indent=2)
        return 0
    titles = {"phases": "Highest peak of a phase", "total": "Allocated over the run"}
    title = titles.get(what, "Peak" if what == "peak" else f"At {what}")
    top = args.top if args.top is not None else ROWS_OF_DIFFERENCES
    if pairs:
        write_lines(*pairs_text(pairs, top), "")
        title = f"Rank {pair.rank}, {title[0].lower()}{title[1:]}"
    shorten = shortener(terminal_width(sys.stdout))
    write_lines(*comparison_text(comparison, title, top, shorten))
    if not any(path.endswith(".json") for path in (args.before, args.after)):
        words = shell_words([args.before, args.after])
        say(*next_commands([(f"html {words} -o both.html", "")]))
    return 0


def _rank_of(pair: Pair) -> dict[str, object]:
    whole = {"bytes_before": pair.bytes_before, "bytes_after": pair.bytes_after}
    is_whole = pair.before is not None and pair.after is not None
    return {"rank": pair.rank, **whole, "delta_bytes": pair.delta_bytes if is_whole else None}


def _side_of(path: str, args: argparse.Namespace) -> Side:
    from peakline.differences import side, summary
    from peakline.differences.loading import load_side

    options = report_options.report_options(args, ROWS_OF_DIFFERENCES)
    if args.phases:
        return load_side(
            path,
            lambda recording: side.phases_of_trace(recording, device=args.device),
            summary.phases_of_summary,
        )
    if args.total:
        for moment in ("at", "measure", "where"):
            options.pop(moment, None)  # type: ignore[misc]
        return load_side(
            path, lambda recording: side.allocated_of_trace(recording, **options), None
        )
    is_kept = (args.by, args.at, args.measure, args.where) == ("line", "peak", "allocated", None)
    return load_side(
        path,
        lambda recording: side.side_of_trace(recording, **options),
        summary.side_of_summary if is_kept else None,
    )
