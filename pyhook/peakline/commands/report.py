"""``peakline report``: reports on a running program without stopping it."""

from __future__ import annotations

import argparse
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.files import reading, replacing, trace_stem
from peakline.base.next_commands import suggest_for
from peakline.base.output import printable, write_json, write_lines, write_report
from peakline.commands.shared import report_options
from peakline.pages.making import make_file
from peakline.pages.options import PageOptions

if TYPE_CHECKING:
    from peakline._report import Options

NAME = "report"
HELP = "Report on a running program: where it is, the peak so far, what it holds now."
EXAMPLES = (
    "peakline report 4242\n"
    "peakline report --html 4242\n"
    "peakline report --beside 4242  # writes it, as numbered files"
)
_TOP = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="PID|FILE",
        help="A recorded process, or an ancestor of one (peakline run, torchrun: all their"
        " ranks); or trace files",
    )
    parser.add_argument(
        "--beside",
        action="store_true",
        help="Write the report beside each trace, NAME.1.txt, NAME.2.txt ..., instead of printing",
    )
    parser.add_argument(
        "--html",
        action="store_true",
        help="Also write the page of peakline html beside each trace, NAME.1.html ...",
    )
    report_options.add_frames(parser)
    report_options.add_device(parser)
    report_options.add_measure(parser)
    report_options.add_top(parser, "rows", _TOP)
    parser.add_argument("--json", action="store_true", help="Print JSON, by default with all rows")


def run(args: argparse.Namespace) -> int:
    """Make the report of each trace."""
    options = report_options.report_options(args, _TOP)
    documents = []
    for number, path in enumerate(args.files):
        # The text and the page of one moment have the same number.
        name = _free_name(Path(path))
        if args.json:
            documents.append(_made(path, options, as_json=True))
        elif args.beside:
            _write(name.with_suffix(".txt"), _made(path, options))
        else:
            write_report(("\n" if number else "") + _made(path, options))
        if args.html:
            _write_page(path, name.with_suffix(".html"), says=not args.json)
    if args.json:
        write_json(documents[0] if len(documents) == 1 else documents, indent=2)
    elif not args.beside:
        suggest_for(args.files[0], "table --by category")
    return 0


def _made(path: str, options: Options, *, as_json: bool = False) -> Any:
    from peakline.terminal.live_report import report_document, report_text

    make = report_document if as_json else report_text
    with reading(path) as trace:
        return make(trace, options)


def _free_name(trace: Path) -> Path:
    """Return a NAME.<n>.txt beside a trace for which neither a text nor a page exists."""
    stem = trace_stem(trace)
    names = (trace.with_name(f"{stem}.{number}.txt") for number in count(1))
    return next(one for one in names if not (one.exists() or one.with_suffix(".html").exists()))


def _write(output: Path, text: str) -> None:
    with replacing(output, force=False) as unfinished:
        unfinished.write_text(printable(text, keep="\n"), encoding="utf-8", errors="replace")
    write_lines(f"Wrote {output}")


def _write_page(path: str, output: Path, *, says: bool) -> None:
    make_file(PageOptions([path], str(output)))
    if says:
        write_lines(f"Wrote {output}; open it in a browser")
