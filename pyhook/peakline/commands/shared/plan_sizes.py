"""``peakline plan --sizes``: the peak of sizes that were never run, from recordings of others."""

from __future__ import annotations

import argparse

from peakline.base.engine import CommandError
from peakline.base.output import printable, write_lines
from peakline.commands.shared import report_options as options
from peakline.commands.shared.printing import print_reports
from peakline.trials.step_sizes import (
    Lengths,
    StepSize,
    lengths_of,
    recording_of_words,
    size_of_words,
)

_ROWS = 10


def add_sizes_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --sizes and its options."""
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=_recording,
        metavar="FILE",
        help="Predict the peak of other sizes from recordings of two sizes or more, and show the"
        " lines that hold it. FILE:batch=8,length=512 names the size of a recording whose inputs"
        " do not show it",
    )
    parser.add_argument(
        "--at",
        action="append",
        type=_size,
        metavar="batch=N,length=N",
        help="With --sizes: a size to predict (may be given several times); new=N for recordings of"
        " generate(): N new tokens per sequence, prefill and decoding apart",
    )
    parser.add_argument(
        "--lengths",
        metavar="FILE[:FIELD]",
        help="With --sizes: predict for the longest sample of this file, and for the length that"
        " half, 90 %% and 99 %% of the samples do not exceed: one number per line, or a field"
        " of JSON lines (a number, or a list)",
    )


def _recording(word: str) -> tuple[str, StepSize]:
    try:
        return recording_of_words(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _size(text: str) -> StepSize:
    try:
        return size_of_words(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run_sizes(args: argparse.Namespace, budget_bytes: int) -> int:
    """Print the predicted peaks; with a budget, whether they fit, and the largest batch."""
    recorded: list[tuple[str, StepSize]] = args.sizes
    if args.files or len(recorded) < 2:
        raise CommandError("--sizes needs two recordings or more, and no other file")
    asked = list(args.at or ())
    lengths = _lengths(args.lengths) if args.lengths else None
    if lengths is not None:
        first = asked[0] if asked else StepSize()
        asked = [StepSize(first.batch, length, first.new) for _, length in lengths.by_part]
    if not asked:
        raise CommandError("give a size to predict: --at batch=64,length=8192, or --lengths FILE")
    if lengths is not None and not args.json:
        write_lines(*_lengths_text(lengths))
    (base, size), *others = recorded
    args.files = [base]
    chosen = options.named_options(args)
    chosen.pop("at", None)
    chosen |= {
        "sizes": [
            size.words,
            *(f"{one.words} {path}" for path, one in others),
        ],
        "at_sizes": [one.words for one in asked],
        "peak_budget": budget_bytes,
        "top": 0 if args.json else _ROWS,
    }
    print_reports(args, "plan", chosen)
    return 0


def _lengths(word: str) -> Lengths:
    try:
        return lengths_of(word)
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from None


def _lengths_text(lengths: Lengths) -> list[str]:
    shares = [f"{part:.0%} at most {length:,}" for part, length in lengths.by_part[:-1]]
    longest = f"the longest is {lengths.by_part[-1][1]:,} (line {lengths.longest_line:,})"
    text = f"{lengths.count:,} samples: {', '.join(shares)}, {longest}"
    return [printable(text.replace("%", " %"))]
