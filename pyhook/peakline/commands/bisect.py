"""``peakline bisect``: the commit, and the lines, that raised the peak of a program."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.api import assumptions
from peakline.base.engine import CommandError
from peakline.base.next_commands import next_commands, shell_words, shortener, terminal_width
from peakline.base.output import say, write_json, write_lines
from peakline.base.sizes import size_of, size_or_unknown
from peakline.builds.native_build import BuildError
from peakline.commands.running.program_options import (
    add_python_argument,
    add_simulation_arguments,
    add_steps_argument,
    run_options_of,
    simulated_device,
)
from peakline.commands.running.trial_runs import progress
from peakline.commands.shared.report_options import add_top, size
from peakline.recording.reports import ROWS_OF_DIFFERENCES
from peakline.trials.attempts import Measured, TryOptions, run_attempt
from peakline.trials.bisecting import SKIPPED, Bisection, Bisector, Commit, Tested, commit_of
from peakline.trials.worktree import Worktree, run_git, worktree_of

if TYPE_CHECKING:
    from peakline.differences.compare import Comparison

NAME = "bisect"
HELP = "Find the commit and the lines that raised the peak. Every commit runs simulated."
EXAMPLES = (
    "peakline bisect v1.2 HEAD --steps 3 -- train.py --epochs 1\n"
    "peakline bisect v1.2 HEAD --limit 70GB --link data -- train.py\n"
    "peakline bisect v1.2 HEAD --limits limits.toml -- -m training"
)

_SHORT = 12  # digits of a hash


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``peakline bisect``."""
    parser.usage = (
        "peakline bisect [options] GOOD BAD -- (SCRIPT.py | -m MODULE | -c CODE) [ARGUMENTS ...]"
    )
    parser.add_argument("good", metavar="GOOD", help="A commit before the peak rose: a tag, a hash")
    parser.add_argument("bad", metavar="BAD", help="A commit after it: HEAD")
    parser.add_argument(
        "--simulate",
        type=simulated_device,
        default="h200",
        metavar="DEVICE",
        help="The GPU to simulate, as in peakline run (default: h200)",
    )
    bad = parser.add_mutually_exclusive_group()
    bad.add_argument(
        "--limit",
        type=size,
        metavar="SIZE",
        help="A commit is bad if its peak is above this (default: above the middle between the"
        " peaks of GOOD and BAD)",
    )
    bad.add_argument(
        "--limits",
        metavar="LIMITS",
        help="A commit is bad if it breaks a limit of this file (peakline check --write-limits)",
    )
    for option, verb in (("--link", "Link"), ("--copy", "Copy")):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="PATH",
            help=f"{verb} this file or folder, which git does not have, into the worktree: data,"
            " built libraries (may be given several times)",
        )
    add_simulation_arguments(parser)
    add_steps_argument(parser)
    add_python_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="Write the recordings before and after the commit here (default: bisect-HASH/)",
    )
    parser.add_argument("-f", "--force", action="store_true", help="Replace these recordings")
    add_top(parser, "rows that differ", ROWS_OF_DIFFERENCES)
    parser.add_argument("--json", action="store_true", help="Print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Bisect. Returns 0 if the commit is found, 1 if only commits that did not run are left."""
    _check(args)
    judge = _judge_of(args)
    with tempfile.TemporaryDirectory(prefix="peakline-bisect-") as name:
        folder = Path(name)
        start, output = Path.cwd(), args.output and Path(args.output).absolute()
        good, bad = _ends(start, args)
        with worktree_of(bad.hash, folder) as worktree, progress() as show:
            for path in (*args.link, *args.copy):
                worktree.bring(path, copies=path in args.copy)
            runner = _runner(args, worktree, folder, show)
            shown = _ignore if args.json else _print_tested
            bisector = Bisector(worktree, runner, judge, shown)
            try:
                found = bisector.bisect(good, bad)
            except BuildError as error:
                raise CommandError(*error.args) from None
            comparison = _comparison(found, worktree)
        traces = _keep(found, output or start, args) if found.first_bad else []
        _report(args, found, comparison, traces, bisector.most_bytes)
    return 0 if found.first_bad else 1


def _check(args: argparse.Namespace) -> None:
    words = args.program_arguments
    if not words:
        raise CommandError("name a program behind --: peakline bisect v1.2 HEAD -- train.py")
    if Path(words[0]).is_absolute():
        raise CommandError(f"{words[0]}: give the path from here, so that each commit runs its own")
    for problem in map(assumptions.problem_of, args.assume):
        if problem:
            raise CommandError(problem)


def _judge_of(args: argparse.Namespace) -> Callable[[Measured], str] | None:
    """Return the function that says why a run is bad; None: by the peaks of the two ends."""
    if args.limits is None:
        if args.limit is None:
            return None
        return lambda measured: (
            f"above {size_of(args.limit)}" if (measured.peak_bytes or 0) > args.limit else ""
        )
    from peakline.differences.limits.judging import Limits, judge
    from peakline.differences.limits.limits_file import read_limits

    limits = Limits(read_limits(args.limits), 0.0, {})

    def broken(measured: Measured) -> str:
        verdicts = judge(str(measured.trace), limits, None)
        return "; ".join(f"{one.name}: {one.sentence}" for one in verdicts if not one.holds)

    return broken


def _ends(folder: Path, args: argparse.Namespace) -> tuple[Commit, Commit]:
    good, bad = commit_of(folder, args.good), commit_of(folder, args.bad)
    if good.hash == bad.hash:
        raise CommandError(f"{args.good} and {args.bad} are the same commit")
    if run_git(folder, "merge-base", good.hash, bad.hash, may_fail=True).strip() != good.hash:
        raise CommandError(f"{args.good} is no ancestor of {args.bad}: give the older commit first")
    count = int(run_git(folder, "rev-list", "--count", f"{good.hash}..{bad.hash}"))
    runs = 2 + max(count - 1, 0).bit_length()
    commits = "1 commit" if count == 1 else f"{count} commits"
    say(f"peakline: {commits} after {args.good}, about {runs} runs")
    return good, bad


def _runner(
    args: argparse.Namespace, worktree: Worktree, folder: Path, show: Callable[[str], None]
) -> Callable[[Commit], Measured]:
    options = TryOptions(run_options_of(args))
    ran: list[Commit] = []

    def run_commit(commit: Commit) -> Measured:
        from peakline.runs.outlines import store_sources_of

        show(f"{commit.hash[:_SHORT]} {commit.subject}")
        try:
            with worktree.entered():
                measured = run_attempt(
                    args.program_arguments, options, folder / commit.hash, simulate=args.simulate
                )
                store_sources_of([measured.trace] if measured.trace else [])
        except FileNotFoundError as error:
            return Measured.nothing(127, [str(error)])
        if not ran:
            _warn_of_other_files(measured, worktree)
        ran.append(commit)
        return measured

    return run_commit


def _comparison(found: Bisection, worktree: Worktree) -> Comparison | None:
    from peakline.differences.compare import compare
    from peakline.differences.side import side_of_trace
    from peakline.recording import Recording

    if found.first_bad is None or found.before is None:
        return None
    traces = [one.measured.trace for one in (found.before, found.first_bad)]
    sides = [side_of_trace(Recording(one), cwd=str(worktree.folder)) for one in traces if one]
    return compare(*sides)


def _warn_of_other_files(measured: Measured, worktree: Worktree) -> None:
    """Warn if the first run used code of the user's checkout: every commit would run the same."""
    from peakline.recording import Recording

    if measured.trace is None or worktree.path.is_relative_to(worktree.root):
        return
    rows = Recording(measured.trace).report("stats", top=0)
    files = [row.location.file for row in rows if row.location]
    outside = next((one for one in files if Path(one).is_relative_to(worktree.root)), "")
    if outside:
        say(
            f"peakline: {outside} is of your checkout, not of the commits: a package that is"
            " installed in place? Set PYTHONPATH to its folder, such as PYTHONPATH=src"
        )


def _keep(found: Bisection, into: Path, args: argparse.Namespace) -> list[str]:
    """Move the two recordings to where the user keeps them; return their paths."""
    assert found.first_bad is not None and found.before is not None
    folder = into if args.output else into / f"bisect-{found.first_bad.commit.hash[:_SHORT]}"
    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, one in (("before", found.before), ("after", found.first_bad)):
        path = folder / f"{name}.peak"
        if path.exists() and not args.force:
            say(f"peakline: {path} exists already, and was not replaced (--force replaces it)")
            return []
        if one.measured.trace:
            shutil.move(one.measured.trace, path)
            paths.append(str(path.relative_to(Path.cwd()) if not args.output else path))
    return paths


def _ignore(_: Tested) -> None:
    pass


def _print_tested(one: Tested) -> None:
    peak = size_or_unknown(one.measured.peak_bytes) if one.verdict != SKIPPED else ""
    commit = one.commit
    reason = f"  ({one.reason})" if one.reason else ""
    words = f"{one.verdict:7}  {peak:>8}  {commit.hash[:_SHORT]}  {commit.subject}{reason}"
    write_lines(words)


def _report(
    args: argparse.Namespace,
    found: Bisection,
    comparison: Comparison | None,
    traces: list[str],
    most_bytes: int | None,
) -> None:
    if args.json:
        write_json(_document(found, comparison, traces, most_bytes), indent=2)
        return
    write_lines("", *_text(args, found, comparison))
    if traces:
        write_lines(f"Wrote {' and '.join(traces)}")
        words = shell_words(traces)
        say(*next_commands([(f"html {words} -o both.html", "both runs on one page")]))


def _text(
    args: argparse.Namespace, found: Bisection, comparison: Comparison | None
) -> Iterator[str]:
    from peakline.differences.text import comparison_text

    if found.first_bad is None or comparison is None:
        yield "One of these is the first bad commit; all before the last one did not run:"
        for commit in found.possible:
            yield f"  {commit.hash[:_SHORT]}  {commit.date}  {commit.subject}"
        return
    commit = found.first_bad.commit
    yield f"First bad commit: {commit.hash}"
    yield f"  {commit.subject}"
    yield f"  {commit.author}, {commit.date}"
    if found.first_bad.reason:
        yield f"  {found.first_bad.reason}"
    shorten = shortener(terminal_width(sys.stdout))
    top = args.top if args.top is not None else ROWS_OF_DIFFERENCES
    yield from comparison_text(comparison, "Peak", top, shorten)


def _document(
    found: Bisection, comparison: Comparison | None, traces: list[str], most_bytes: int | None
) -> dict[str, Any]:
    from peakline.differences.compare import document_of

    def commit_of_run(one: Tested) -> dict[str, Any]:
        commit = vars(one.commit)
        peak = one.measured.peak_bytes
        return {**commit, "verdict": one.verdict, "peak_bytes": peak, "reason": one.reason or None}

    return {
        "schema_version": 1,
        "simulated": True,
        "middle_bytes": most_bytes,
        "commits": [commit_of_run(one) for one in found.tested.values()],
        "first_bad": commit_of_run(found.first_bad) if found.first_bad else None,
        "possible": [vars(one) for one in found.possible],
        "files": traces,
        "difference": document_of(comparison, by="line", compared="peak") if comparison else None,
    }
