"""``peakline advise``: changes that would lower the peak; with --try, each is measured in a run."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.api import assumptions
from peakline.base.engine import CommandError
from peakline.base.next_commands import next_commands, shell_words
from peakline.base.output import write_json, write_lines
from peakline.base.sizes import size_of, size_or_unknown
from peakline.builds.native_build import BuildError
from peakline.commands.running.program_options import run_options_of
from peakline.commands.running.trial_runs import add_try_arguments, check_program, progress
from peakline.commands.shared import report_options as options
from peakline.commands.shared.printing import print_reports, suggest
from peakline.recording.reports import FORMS
from peakline.trials.attempts import TryOptions
from peakline.trials.trying import CHANGES, Trial, Trials, problem_of, try_changes

if TYPE_CHECKING:
    from peakline.trials.attempts import Measured

NAME = "advise"
HELP = "Show what would lower the peak, and by how many bytes. --try measures it."
EXAMPLES = (
    "peakline advise train.peak\n"
    "peakline advise --try train.py --simulate h200 --steps 3 -- --batch 8\n"
    "peakline advise --try train.py --change fused --change 'checkpoint=h.*'"
)

_WITH_VALUE = {"checkpoint": "checkpoint=MODULES", "compile": "compile, compile=PART"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``peakline advise``."""
    parser.usage = (
        "peakline advise [options] FILE ...\n"
        "       peakline advise --try PROGRAM [options] [-- ARGUMENTS ...]"
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="Trace file (.peak, or packed .peak.zst)"
    )
    add_try_arguments(
        parser,
        "Run this program as it is, then with each change that needs no edit, then with all"
        " that help; words after -- are its arguments, or the program (-- torchrun ...)",
    )
    names = ", ".join(_WITH_VALUE.get(one, one) for one in CHANGES)
    parser.add_argument(
        "--change",
        action="append",
        default=[],
        metavar="NAME",
        help=f"With --try: only these ({names}); default: those that its recording suggests",
    )
    options.add_frames(parser)
    options.add_device(parser)
    options.add_measure(parser)
    options.refuse_where(parser)
    options.add_top(parser, "pieces of advice", FORMS[NAME].shown)
    options.add_terminal(parser)
    parser.add_argument("--json", action="store_true", help="Print JSON, by default with all rows")


def run(args: argparse.Namespace) -> int:
    """Print the advice of each file, or try changes. Returns 1 if no change ran through."""
    if args.program is not None:
        return _run_trials(args)
    print_reports(args, NAME, options.report_options(args, FORMS[NAME].shown))
    suggest(args, "whatif --search")
    return 0


def _run_trials(args: argparse.Namespace) -> int:
    _check(args)
    command = [*([args.program] if args.program else []), *args.program_arguments]
    tried = TryOptions(run_options_of(args), args.simulate, tuple(args.change), args.frame)
    try:
        with tempfile.TemporaryDirectory(prefix="peakline-advise-") as folder, progress() as show:
            *_, found = try_changes(command, tried, Path(folder), show)
    except BuildError as error:
        raise CommandError(*error.args) from None
    if found.base.status != 0 or found.base.peak_bytes is None:
        raise CommandError(*_failure_of(found.base))
    if args.json:
        trials = [trial.document() for trial in found.trials]
        write_json({**found.advice, "tried": trials}, indent=2)
    else:
        write_lines(*_report(args, command, found))
    return 0 if any(trial.ok for trial in found.trials) else 1


def _check(args: argparse.Namespace) -> None:
    check_program(args, NAME)
    for problem in (*map(problem_of, args.change), *map(assumptions.problem_of, args.assume)):
        if problem:
            raise CommandError(problem)


def _failure_of(base: Measured) -> list[str]:
    if base.status == 0:
        return ["the program made no tensor on a GPU: there is nothing to lower"]
    head = f"the program as it is ended with {base.status}; no change was tried:"
    return [head, *(f"  {line}" for line in base.last_words)]


def _saved(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return "?"
    difference = before - after
    return f"-{size_of(difference)}" if difference >= 0 else f"+{size_of(-difference)}"


def _row(args: argparse.Namespace, trial: Trial) -> list[str]:
    name = "; ".join(trial.changes) if len(trial.changes) == 1 else "these together:"
    if not trial.ok:
        return [name, "failed", "", "", ""]
    if not trial.applied:
        return [name, "nothing to change", "", "", ""]
    before, after = trial.before, trial.after
    cells = [
        size_or_unknown(after.peak_bytes),
        _saved(before.peak_bytes, after.peak_bytes),
        size_or_unknown(after.most_used_bytes),
    ]
    return [name, *cells, "" if args.simulate else f"{after.seconds:.1f} s"]


def _table(args: argparse.Namespace, found: Trials) -> Iterator[str]:
    base = found.base
    time = "" if args.simulate else f"{base.seconds:.1f} s"
    rows = [
        ["Change", "Peak", "", "Device", "" if args.simulate else "Time"],
        [
            "(as it is)",
            size_or_unknown(base.peak_bytes),
            "",
            size_or_unknown(base.most_used_bytes),
            time,
        ],
    ]
    for trial in found.trials:
        rows.append(_row(args, trial))
        if len(trial.changes) > 1:
            rows.extend([f"  {change}", "", "", "", ""] for change in trial.changes)
    whole = [row for row in rows if row[2] or row[3]]
    widths = [max(len(row[i]) for row in (rows if i == 0 else whole)) for i in range(5)]
    for row in rows:
        first, *rest = row
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()


def _advice_left(found: Trials) -> list[dict[str, Any]]:
    tried = {change for trial in found.trials for change in trial.changes}
    return [one for one in found.advice.get("advice", []) if one["try"] not in tried]


def _report(args: argparse.Namespace, command: list[str], found: Trials) -> Iterator[str]:
    if args.simulate:
        yield "Simulated device: sizes are exact, numbers are not; no GPU was used"
    yield "Each change alone, in a run of its own:"
    yield from _table(args, found)
    for trial in found.trials:
        steady = trial.after.steady_peak_bytes
        if trial.ok and steady is not None and steady != trial.after.peak_bytes:
            yield (
                f"{'; '.join(trial.changes)}: {size_of(steady)} without the memory that only"
                " compiling takes"
            )
    for trial in found.trials:
        if not trial.ok:
            yield ""
            yield f"{'; '.join(trial.changes)}: the program ended with {trial.after.status}:"
            yield from (f"  {line}" for line in trial.after.last_words[-3:])
    left = _advice_left(found)
    if left:
        yield ""
        yield "These need an edit, or were not tried:"
        for one in left:
            saves = one["saves_bytes"]
            figure = f"saves {size_of(saves)}" if saves else f"holds {size_of(one['held_bytes'])}"
            yield f"  {one['title']} ({figure})"
            yield f"    {one['key']}"
    simulate = f"--simulate {args.simulate} " if args.simulate else ""
    recorded = f"run {simulate}{shell_words(command)}"
    yield ""
    yield from next_commands([(recorded, "a recording; peakline advise FILE names the lines")])
