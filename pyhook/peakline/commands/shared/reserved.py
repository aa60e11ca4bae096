"""``peakline leaks --measure reserved``: why torch's segments grew since a moment."""

from __future__ import annotations

import argparse

from peakline.base.engine import CommandError
from peakline.base.output import write_json, write_lines
from peakline.commands.shared.report_options import add_measures, named_options, option_words

_RESERVED = "reserved"
_ROWS = 20


def add_growth_measure(parser: argparse.ArgumentParser) -> None:
    """Add --measure with reserved memory, and --since."""
    words = option_words("measure") | {_RESERVED: option_words("every-measure")[_RESERVED]}
    add_measures(parser, words)
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="With --measure reserved: explain the growth since then: seconds since the trace"
        " began, step@N, or a local time as 2030-01-31T08:00 (default: the whole run)",
    )


def print_reserved_growth(args: argparse.Namespace) -> int | None:
    """Print the growth of reserved memory of every file; None: another measure is asked for."""
    if args.measure != _RESERVED:
        if args.since is not None:
            raise CommandError("--since needs --measure reserved")
        return None
    from peakline.differences.reserved import document_of, reserved_since, reserved_text
    from peakline.recording import Recording

    if args.by != "line" or args.fail_on_growth:
        raise CommandError("--measure reserved has rows of lines, and no --fail-on-growth")
    given = named_options(args)
    options = {name: given[name] for name in ("frame", "hide", "symbols", "full_paths")}
    documents = []
    for path in args.files:
        recording = Recording(path)
        found = reserved_since(recording, args.since, args.device, **options)
        documents.append(document_of(found))
        if not args.json:
            write_lines(*reserved_text(found, _ROWS if args.top is None else args.top))
    if args.json:
        write_json(documents if len(documents) > 1 else documents[0], indent=2)
    return 0
