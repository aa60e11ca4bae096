"""``peakline export``: a recording in the format of another tool."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from peakline.base.engine import CommandError
from peakline.base.files import replacing, terminal_bar, trace_stem
from peakline.base.output import did_you_mean, say, write_lines
from peakline.base.sizes import size_of
from peakline.commands.shared import report_options
from peakline.commands.shared.folders import HEAVIEST, WHOLE, is_folder, run_in
from peakline.exports import FORMATS, Format
from peakline.exports.asked import Asked

NAME = "export"
HELP = "Write a trace for other tools: Perfetto, pprof, Parquet ..."
_TABLES = "parquet"  # the format that may be a folder of tables
EXAMPLES = (
    "peakline export speedscope train.peak\n"
    "peakline export torch-snapshot train.peak -o train.pickle\n"
    "peakline export parquet --during step@3 train.peak\n"
    "peakline export parquet runs/ --label version=1.4.2 -o fleet/\n"
    "peakline export folded train.peak -o - | flamegraph.pl > train.svg"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    listed = "; ".join(f"{one.name}: {one.help}" for one in FORMATS.values())
    parser.add_argument("format", metavar="FORMAT", help=listed)
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="Trace file (.peak, or packed .peak.zst); of a folder with one run its"
        " heaviest process. Of parquet also several, and folders: each trace in them becomes a"
        " summary in a folder of tables (or s3://, gs://), for `peakline fleet`",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="Write this file; - is standard output (default: named after FILE, in this folder)",
    )
    parser.add_argument("-f", "--force", action="store_true", help="Replace an existing file")
    parser.add_argument(
        "--tables",
        action="store_true",
        help="With parquet: write the folder of tables -o, also of a single trace",
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        type=_label,
        metavar="NAME=VALUE",
        help="With tables: what to know of these traces, may be given several times; version= is"
        " what `peakline fleet` compares (default: the git commit of the program)",
    )
    report_options.add_moment(parser)
    report_options.add_during(parser, "Write only what happens")
    report_options.add_device(parser)
    report_options.add_least_size(parser)
    report_options.refuse_where(parser)
    # Tables cover every process of every run.
    parser.set_defaults(folder_gives=lambda args: WHOLE if args.format == _TABLES else HEAVIEST)


def run(args: argparse.Namespace) -> int:
    """Write the file, or the tables."""
    form = _format_of(args)
    if _wants_tables(args, form):
        return _write_tables(args)
    [file] = args.files
    from peakline.recording import Recording

    asked = Asked(args.at, args.during, args.device, args.min_bytes)
    try:
        recording = Recording(file)
        if args.output == "-":
            form.write(recording, asked, sys.stdout.buffer)
            return 0
        name = args.output or trace_stem(file) + form.suffix
        with (
            replacing(Path(name), force=args.force) as unfinished,
            unfinished.open("wb") as out,
        ):
            form.write(recording, asked, out)
    except ImportError as error:
        raise CommandError(_lacks(form.needs, form.extra)) from error
    write_lines(f"Wrote {name}")
    return 0


def _format_of(args: argparse.Namespace) -> Format:
    form = FORMATS.get(args.format)
    if form is None:
        near = did_you_mean(args.format, FORMATS)
        raise CommandError(
            f"no format is called '{args.format}'{near or '; there are: ' + ', '.join(FORMATS)}"
        )
    for option, is_given in (
        ("at", args.at != "peak"),
        ("during", args.during is not None),
        ("min", args.min_bytes != 0),
    ):
        if is_given and option not in form.takes:
            takes = ", ".join(f"--{one}" for one in (*form.takes, "device"))
            raise CommandError(f"{form.name} does not take --{option}; it takes {takes}")
    return form


def _lacks(package: str, extra: str) -> str:
    return f"this is written with {package}; type: pip install 'peakline[{extra}]'"


def _label(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE: version=1.4.2, team=vision")
    return name, value


def _wants_tables(args: argparse.Namespace, form: Format) -> bool:
    several = len(args.files) > 1 or is_folder(args.files[0])
    if form.name != _TABLES:
        if several or args.tables or args.label:
            raise CommandError(
                f"{form.name} takes one trace; tables of several are: peakline export parquet"
            )
        return False
    if not (several or args.tables):
        if args.label:
            raise CommandError("labels are columns of tables; add --tables -o FOLDER")
        return False
    for option in ("during", "device"):
        if getattr(args, option) is not None:
            raise CommandError(f"tables are of whole runs: they do not take --{option}")
    if args.output in (None, "-"):
        raise CommandError("tables are a folder; name it with -o FOLDER")
    if Path(args.output).is_file():
        raise CommandError(f"{args.output} is a file; name a folder with -o")
    return True


def _write_tables(args: argparse.Namespace) -> int:
    """Write a summary of each trace; unreadable traces are named and skipped."""
    if importlib.util.find_spec("pyarrow") is None:
        raise CommandError(_lacks("pyarrow", "fleet"))
    from peakline.fleet import collecting
    from peakline.fleet.engines import FleetError

    paths = collecting.find_traces(_files_of_runs(args.files))
    if not paths:
        raise CommandError(f"{args.files[0]}: no trace there (.peak, .peak.zst)")
    try:
        columns = ("MofNCompleteColumn", "TimeRemainingColumn")
        with terminal_bar("Reading traces", len(paths), *columns) as progress:
            done = collecting.collect(paths, args.output, dict(args.label), progress)
    except FleetError as error:
        raise CommandError(str(error)) from error
    for sentence in done.failed:
        say(f"peakline: error: {sentence}")
    if done.traces:
        traces = "1 trace" if done.traces == 1 else f"{done.traces:,} traces"
        write_lines(f"Wrote {args.output}: {traces}, {size_of(done.bytes_written)}")
        write_lines(f"Next: peakline fleet {args.output}")
    return 2 if done.failed else 0


def _files_of_runs(words: Sequence[str]) -> list[str]:
    """Return the words, with each FOLDER@ID replaced by the traces of that run."""
    found: list[str] = []
    for word in words:
        is_run = is_folder(word) and not Path(word).is_dir()
        found += [str(one.path) for one in run_in(word).members] if is_run else [word]
    return found
