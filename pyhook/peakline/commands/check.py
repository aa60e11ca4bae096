"""``peakline check``: a gate for CI with limits and a baseline."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError
from peakline.base.files import replacing
from peakline.base.next_commands import next_commands, shell_words
from peakline.base.output import say, write_json, write_lines
from peakline.commands.shared import report_options
from peakline.commands.shared.folders import ALL, chosen_run, heaviest_of, is_folder, run_in

if TYPE_CHECKING:
    from peakline.differences.limits.limit import Limit

NAME = "check"
HELP = "Fail, with exit code 1, above a limit or a baseline."
EXAMPLES = (
    "peakline check train.peak --max-peak 70GB\n"
    "peakline check train.peak --baseline base.summary.json --tolerance 2%\n"
    "peakline check train.peak --max-phase backward=60GB --junit peakline.xml\n"
    "peakline check train.peak --write-limits limits.toml --tolerance 5%\n"
    "peakline check train.peak --limits limits.toml --github"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    report_options.add_files(parser)
    parser.set_defaults(folder_gives=ALL)
    parser.add_argument(
        "--max-peak", type=report_options.size, metavar="SIZE", help="Limit of the peak: 70GB"
    )
    parser.add_argument(
        "--max-phase",
        action="append",
        type=_phase_limit,
        default=[],
        metavar="NAME=SIZE",
        help="Limit of the highest peak within a phase: backward=60GB (may be given several times)",
    )
    parser.add_argument(
        "--limits",
        metavar="LIMITS",
        help="A file of limits (TOML): levels, growth per step, phases, lines, modules, categories",
    )
    parser.add_argument(
        "--write-limits",
        metavar="LIMITS",
        help="Write a file of limits that this run keeps, and check nothing",
    )
    parser.add_argument(
        "--baseline",
        metavar="BASE",
        help="A trace, or the summary of one (`peakline pack --summary`): its peak, and those of"
        " its phases, are the limit",
    )
    parser.add_argument(
        "--tolerance",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="With --baseline and --write-limits: this much more is fine: 2%% or 0.02 (default:"
        " nothing)",
    )
    report_options.add_device(parser)
    report_options.add_every_measure(parser)
    report_options.add_frames(parser)
    parser.add_argument(
        "-f", "--force", action="store_true", help="With --write-limits: replace the file"
    )
    parser.add_argument("--junit", metavar="OUT", help="Write the answers as JUnit XML")
    parser.add_argument(
        "--github", action="store_true", help="Print annotations for the lines on GitHub"
    )
    parser.add_argument("--json", action="store_true", help="Print JSON")


def run(args: argparse.Namespace) -> int:
    """Check every file. Returns 0 if every limit holds, else 1."""
    from peakline.differences import gate
    from peakline.differences.limits.judging import Limits, judge_all

    if args.write_limits:
        return _write_limits(args)
    asked = _limits_of(args)
    if not asked and not args.baseline:
        raise CommandError("give a limit: --limits, --max-peak, --max-phase or --baseline")
    baselines = _baselines_of(args)
    limits = Limits(asked, args.tolerance, report_options.named_options(args))
    verdicts = judge_all(args.files, limits, lambda path: baselines.get(path, args.baseline))
    if args.junit:
        try:
            Path(args.junit).write_bytes(gate.junit_of(verdicts))
        except OSError as error:
            raise CommandError(f"cannot write {args.junit}: {error.strerror}") from error
    if args.json:
        write_json({"schema_version": 1, "limits": [asdict(one) for one in verdicts]}, indent=2)
    else:
        write_lines(*gate.text_of(verdicts))
    if args.github:
        write_lines(*gate.annotations_of(verdicts))
    return 0 if all(verdict.holds for verdict in verdicts) else 1


def _limits_of(args: argparse.Namespace) -> list[Limit]:
    """Return the limits of the options, then those of the file."""
    from peakline.differences.limits.limit import PEAK, PHASE, Limit
    from peakline.differences.limits.limits_file import read_limits

    peaks = [] if args.max_peak is None else [args.max_peak]
    return [
        *(Limit(PEAK, "", most, measure=args.measure) for most in peaks),
        *(Limit(PHASE, name, most) for name, most in args.max_phase),
        *(read_limits(args.limits) if args.limits else ()),
    ]


def _write_limits(args: argparse.Namespace) -> int:
    from peakline.differences.limits.written import limits_of_runs, text_of

    options = report_options.named_options(args)
    options["measure"] = "allocated"
    limits = limits_of_runs(args.files, args.tolerance, options)
    text = text_of(limits, [Path(path).name for path in args.files])
    output = Path(args.write_limits)
    with replacing(output, force=args.force) as unfinished:
        unfinished.write_text(text)
    write_lines(f"Wrote {output} ({len(limits)} limits)")
    words = shell_words([str(output), *args.files])
    say(*next_commands([(f"check --limits {words}", "")]))
    return 0


def _baselines_of(args: argparse.Namespace) -> dict[str, str]:
    """Return the baseline of every file; in a folder, the same rank, else the heaviest."""
    if not args.baseline or not is_folder(args.baseline):
        return {}
    base = run_in(args.baseline)
    heaviest = heaviest_of(base, args.baseline)
    ranks = {rank: str(one.path) for rank, one in base.ranks.items()}
    own = {str(one.path): rank for rank, one in chosen_run(args.files).ranks.items()}
    return {path: ranks.get(own.get(path, -1), heaviest) for path in args.files}


def _phase_limit(text: str) -> tuple[str, int]:
    name, found, limit = text.rpartition("=")
    if not found or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=SIZE: backward=60GB")
    return name, report_options.size(limit)


def _share(text: str) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(%?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a share: 2% or 0.02")
    return float(found[1]) / (100 if found[2] else 1)
