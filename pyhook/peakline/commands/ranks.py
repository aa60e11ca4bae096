"""``peakline ranks``: compares the processes of a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError, report_engine
from peakline.base.files import terminal_bar
from peakline.base.next_commands import (
    next_commands,
    shell_words,
    shortener,
    suggest_for,
    terminal_width,
)
from peakline.base.output import say, write_json, write_lines
from peakline.commands.shared.folders import WHOLE, chosen_run
from peakline.recording.reports import ROWS_OF_RANKS

if TYPE_CHECKING:
    from peakline.runs.find import Run

NAME = "ranks"
HELP = "Compare the ranks of a run: heaviest, uneven, missing."
EXAMPLES = (
    "peakline ranks peakline-train.4fd0c1ab/\n"
    "peakline ranks RUN/ --by module\n"
    "peakline ranks RUN/ --mesh pp=2,dp=4,tp=2"
)
_KEYS = ("line", "module", "op", "category")
_PROGRESS_FROM = 64  # traces


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "files", nargs="+", metavar="RUN", help="Folder of a run, or the traces of its ranks"
    )
    parser.set_defaults(folder_gives=WHOLE)
    parser.add_argument(
        "--by",
        choices=_KEYS,
        default="line",
        help="Compare lines, modules, operators or categories (default: line)",
    )
    parser.add_argument(
        "--mesh",
        default="",
        metavar="DIMENSIONS",
        help="The dimensions of the job, the last one varying fastest, as pp=2,dp=4,tp=2 (default:"
        " from the names of its process groups)",
    )
    parser.add_argument(
        "--top",
        type=int,
        default=ROWS_OF_RANKS,
        metavar="N",
        help=f"Show N ranks and rows, 0 for all (default: {ROWS_OF_RANKS})",
    )
    parser.add_argument("--json", action="store_true", help="Print JSON, with all ranks and rows")


def run(args: argparse.Namespace) -> int:
    """Print the comparison."""
    from peakline.runs.coordinates import MeshError
    from peakline.runs.outlines import read_outlines
    from peakline.runs.report import compare_run, document_of
    from peakline.runs.text import comparison_text

    report_engine()
    found = chosen_run(args.files)
    paths = [one.path for one in found.compared]
    if len(found.members) == 1 and found.world_size < 2 and not args.json:
        write_lines(f"{paths[0]} is the only process of its run: there is nothing to compare")
        suggest_for(str(paths[0]), "table")
        return 0
    columns = ("TaskProgressColumn", "TimeRemainingColumn")
    bar = terminal_bar("Reading traces", len(paths), *columns)
    with bar if len(paths) >= _PROGRESS_FROM else nullcontext() as progress:
        outlines = read_outlines(paths, progress or (lambda _: None))
    try:
        comparison = compare_run(found, outlines, args.by, args.mesh)
    except MeshError as error:
        raise CommandError(f"--mesh: {error}") from error
    except ValueError as error:
        raise CommandError(str(error)) from error
    if args.json:
        write_json(document_of(comparison))
        return 0
    shorten = shortener(terminal_width(sys.stdout))
    write_lines(*comparison_text(comparison, args.top, shorten))
    _suggest(found, args.files)
    return 0


def _suggest(found: Run, files: Sequence[str]) -> None:
    words = shell_words(files)
    heaviest = [(f"table {words}", "the lines of the heaviest")] if len(files) == 1 else []
    page = (f"html {words} -o {shell_words([found.name + '.html'])}", "all ranks in one page")
    say(*next_commands([*heaviest, page]))
