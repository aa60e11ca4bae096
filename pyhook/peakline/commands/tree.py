"""``peakline tree``: browse the live set by call stack in the terminal."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from peakline.base.engine import CommandError, report_engine
from peakline.base.files import reading
from peakline.commands.shared import report_options
from peakline.commands.shared.printing import all_rows_command
from peakline.text.terminal import Terminal, terminal_of, text_of

NAME = "tree"
HELP = "Browse the call stacks that hold the memory at its peak. Without a terminal it prints text."
EXAMPLES = (
    "peakline tree train.peak\n"
    "peakline tree --at backward --where category=activation train.peak\n"
    "peakline tree --top 50 train.peak > tree.txt"
)
_TOP = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="Trace file (.peak, or packed .peak.zst; default: the newest run in this folder)",
    )
    report_options.add_frames(parser)
    parser.add_argument(
        "--native",
        action="store_true",
        help="Begin with the native frames below the innermost Python line",
    )
    report_options.add_where(parser)
    report_options.add_moment(parser)
    report_options.add_device(parser)
    report_options.add_measure(parser)
    report_options.add_top(parser, "stacks if the tree is printed as text", _TOP)
    report_options.add_terminal(parser)


def run(args: argparse.Namespace) -> int:
    """Open the tree on a terminal, else print it."""
    if len(args.files) > 1:
        raise CommandError("a tree is of one trace; peakline html compares several")
    terminal = terminal_of(sys.stdout, is_plain=args.plain, has_color=not args.no_color)
    walks = terminal is not None and terminal.is_interactive
    with reading(args.files[0]) as trace:
        document = _document(trace, args, walks)
    if walks:
        _walk(document)
    else:
        _print(document, terminal or text_of(sys.stdout), args)
    return 0


def _document(trace: Any, args: argparse.Namespace, walks: bool) -> dict[str, Any]:
    """Return the tree; for browsing, all of it, with the categories of each node if known."""
    options: dict[str, Any] = dict(report_options.named_options(args))
    if not walks:
        top = _TOP if args.top is None else args.top
        return dict(trace.document("table", by="stack", top=top, **options))
    try:
        return dict(trace.document("table", by="stack,category", **options))
    except report_engine().TraceError:
        return dict(trace.document("table", by="stack", **options))


def _walk(document: dict[str, Any]) -> None:
    try:
        from peakline.terminal.tree_view import TreeView
    except ImportError as error:
        raise CommandError(
            f"the tree needs the package textual ({error}): pip install textual, or add --plain"
        ) from error
    TreeView(document).run()


def _print(document: dict[str, Any], terminal: Terminal, args: argparse.Namespace) -> None:
    from peakline.text.document import print_document

    print_document(document, terminal, all_rows_command(args.words))
