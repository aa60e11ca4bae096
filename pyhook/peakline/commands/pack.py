"""``peakline pack``: packs a trace to a small fraction of its size."""

from __future__ import annotations

import argparse
from pathlib import Path

from peakline.base.engine import report_engine
from peakline.base.files import progress_bar, replacing, trace_stem
from peakline.base.next_commands import suggest_for
from peakline.base.output import write_lines
from peakline.base.sizes import size_of

NAME = "pack"
HELP = "Compress a trace to keep or send it. Every command reads it packed."
EXAMPLES = "peakline pack train.peak\npeakline pack --summary train.peak -o base.summary.json"

_SUFFIX = ".zst"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="Trace file (.peak)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"Write this file (default: FILE{_SUFFIX})"
    )
    parser.add_argument(
        "--level",
        type=_level,
        default=9,
        metavar="N",
        help="Compress at this level of zstd, 1 to 19 (default: 9)",
    )
    parser.add_argument(
        "-f", "--force", action="store_true", help="Replace an existing packed file"
    )
    parser.add_argument(
        "--summary",
        action="store_true",
        help="Write only the lines of the peak and the peaks of phases, as JSON: a baseline for"
        " `peakline check` and `diff`, to be committed; the same run gives the same bytes",
    )


def _level(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 19:
        raise argparse.ArgumentTypeError(f"'{text}' is not a level from 1 to 19")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Pack one file; an old packed file is replaced only when the new one is complete."""
    if args.summary:
        return _write_summary(args)
    output = Path(args.output or args.file + _SUFFIX)
    with replacing(output, force=args.force) as unfinished:
        engine = report_engine()
        with progress_bar(args.file, "Packing") as progress:
            raw, packed = engine.pack(args.file, str(unfinished), args.level, progress)
    times = f"{raw / packed:.0f} times smaller" if raw > packed else "no smaller"
    write_lines(f"Wrote {output} ({size_of(packed)}, {times}; zstd -d unpacks it, too)")
    suggest_for(str(output), "table")
    return 0


def _write_summary(args: argparse.Namespace) -> int:
    from peakline.differences import summary
    from peakline.recording import Recording

    output = Path(args.output or trace_stem(args.file) + summary.SUFFIX)
    text = summary.text_of(summary.summary_of(Recording(args.file)))
    with replacing(output, force=args.force) as unfinished:
        unfinished.write_text(text)
    write_lines(f"Wrote {output} ({size_of(len(text))})")
    return 0
