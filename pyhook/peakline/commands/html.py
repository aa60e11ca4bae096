"""``peakline html``: the run as a page for the browser, in one file."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from peakline.base import common
from peakline.base.output import write_lines
from peakline.commands.shared import report_options
from peakline.commands.shared.folders import ALL
from peakline.pages import contents

NAME = "html"
HELP = "Write a page for the browser: summary, lines, flame graph, timeline; one file."
EXAMPLES = (
    "peakline html train.peak\n"
    "peakline html train.peak -o report.html --no-source\n"
    "peakline html train.peak --from 12.3 --to 12.5\n"
    "peakline html before.peak after.peak -o both.html"
)
# The tab that the page opens at.
_TAB = "summary"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="Trace file (.peak, or packed .peak.zst), or the folder of a run; of several the page"
        " shows the one with the highest peak, and compares all: ranks of a job, runs before and"
        " after a change",
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
    """Write the page."""
    return write_page(args, _TAB)


def write_page(args: argparse.Namespace, tab: str) -> int:
    """Write the page, opened at this tab, and say so."""
    output, shown = make_file(args, tab)
    write_lines(f"Wrote {output} ({output.stat().st_size / 1e6:.1f} MB); open it in a browser")
    common.suggest_for(shown, "table --by category")
    return 0


def page_arguments(files: Sequence[str], output: Path, *, force: bool) -> argparse.Namespace:
    """Return the arguments of the command, for others that write a page."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    words = ["-o", str(output), *(["--force"] if force else []), "--", *files]
    return parser.parse_args(words)


def make_file(args: argparse.Namespace, tab: str = _TAB) -> tuple[Path, str]:
    """Write the page; nothing is replaced before the new one is whole.

    Returns:
        The page, and which of the traces it shows in full.

    Raises:
        CommandError: a trace cannot be read, or the page not be written.
    """
    from peakline.pages.files import files_data, heaviest
    from peakline.pages.page import PageOptions, make_page

    files: list[str] = args.files
    _check(args)
    output = Path(args.output) if args.output else _beside(files, args.folder)
    with common.replacing(output, force=args.force) as unfinished:
        outlines = contents.read_outlines(files, args) if len(files) > 1 else []
        shown = heaviest(outlines) if outlines else 0
        devices = contents.read_devices(files[shown], args)
        options = PageOptions(
            with_source=not args.no_source,
            tab=tab,
            is_part=contents.is_part(args),
            grows=contents.read_growth(files[shown]),
            files=files_data(outlines, shown, contents.moved_lines(files, args))
            if outlines
            else None,
        )
        text = make_page(devices, options)
        unfinished.write_bytes(text.encode("utf-8", errors="replace"))
    return output, files[shown]


def _check(args: argparse.Namespace) -> None:
    if args.to_seconds <= args.from_seconds:
        raise common.CommandError("--to must be later than --from")
    if len(args.files) == 1:
        return
    if contents.is_part(args):
        raise common.CommandError("--from and --to show a part of one run: give one FILE")
    if not args.output and args.folder is None:
        raise common.CommandError("several files make one page: name it with -o")
    twice = [path for path, count in Counter(args.files).items() if count > 1]
    if twice:
        raise common.CommandError(f"{twice[0]} is given twice")


def _beside(files: Sequence[str], folder: Path | None) -> Path:
    """Return where the page goes without a name: of a run into its folder."""
    if folder is None or len(files) == 1:
        return page_beside(Path(files[0]))
    return folder / "ranks.html"


def page_beside(source: Path) -> Path:
    """Return where the page of a trace goes: beside it, under its name."""
    return source.with_name(f"{common.trace_stem(source)}.html")
