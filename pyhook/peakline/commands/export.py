"""``peakline export``: a recording in the format of another tool."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from peakline.commands.shared import common, report_options
from peakline.commands.shared.parser import did_you_mean
from peakline.exports import FORMATS, Format
from peakline.exports.asked import Asked

NAME = "export"
HELP = "Write a recording for other tools: speedscope, Perfetto, memory_viz, pprof, Parquet ..."
EXAMPLES = (
    "peakline export speedscope train.peak\n"
    "peakline export torch-snapshot train.peak -o train.pickle\n"
    "peakline export parquet --during step@3 train.peak\n"
    "peakline export folded train.peak -o - | flamegraph.pl > train.svg"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    listed = "; ".join(f"{one.name}: {one.help}" for one in FORMATS.values())
    parser.add_argument("format", metavar="FORMAT", help=listed)
    parser.add_argument("file", metavar="FILE", help="Trace file (.peak, or packed .peak.zst)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="Write this file; - is standard output (default: named after FILE, in this folder)",
    )
    parser.add_argument("-f", "--force", action="store_true", help="Replace an existing file")
    report_options.add_moment(parser)
    report_options.add_during(parser, "Write only what happens")
    report_options.add_device(parser)
    report_options.add_least_size(parser)
    report_options.refuse_where(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file."""
    form = _format_of(args)
    engine = common.report_engine()
    from peakline.recording import Recording

    asked = Asked(args.at, args.during, args.device, args.min_bytes)
    try:
        recording = Recording(args.file)
        if args.output == "-":
            form.write(recording, asked, sys.stdout.buffer)
            return 0
        name = args.output or common.trace_stem(args.file) + form.suffix
        with (
            common.replacing(Path(name), force=args.force) as unfinished,
            unfinished.open("wb") as out,
        ):
            form.write(recording, asked, out)
    except engine.TraceError as error:
        raise common.CommandError(str(error)) from error
    except ImportError as error:
        raise common.CommandError(
            f"{form.name} is written with {form.needs}; type: pip install 'peakline[{form.extra}]'"
        ) from error
    print(f"Wrote {name}")
    return 0


def _format_of(args: argparse.Namespace) -> Format:
    form = FORMATS.get(args.format)
    if form is None:
        near = did_you_mean(args.format, FORMATS)
        raise common.CommandError(
            f"no format is called '{args.format}'{near or '; there are: ' + ', '.join(FORMATS)}"
        )
    for option, is_given in (
        ("at", args.at != "peak"),
        ("during", args.during is not None),
        ("min", args.min_bytes != 0),
    ):
        if is_given and option not in form.takes:
            takes = ", ".join(f"--{one}" for one in (*form.takes, "device"))
            raise common.CommandError(f"{form.name} does not take --{option}; it takes {takes}")
    return form
